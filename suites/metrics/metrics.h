/*
 * The table of the case: each metric with its operands, its size, how exact its answer is, and the
 * rivals that have it.
 */
#ifndef SUITES_METRICS_METRICS_H
#define SUITES_METRICS_METRICS_H

#include "calibrax/metrics/metrics.h"
#include "calibrax/perf/case/case.h"

/** Shape of the result. */
typedef enum cbx__ms_result {
    CBX__MS_ONE,   /* one number */
    CBX__MS_EACH,  /* n numbers */
    CBX__MS_TABLE, /* d by d */
    CBX__MS_SQUARE /* n by n */
} cbx__ms_result;

/*
 * X(name, operands, n, d, result, rivals), sorted by domain as the registry is.
 *
 * operands  a letter each: kinds in inputs.c
 * rivals    s scikit-learn, y SciPy, o the domain's own package, t torchmetrics, c the Python package calibrax;
 *           T and C: those two where they compute in float32, or in another way that is less exact;
 *           =: the answer is a count or one of the operands, so that mutants may find it
 */
#define CBX__MS_MAP(X)                                                                                                 \
    X(mse, "rr", 1000000, 1, ONE, "stc")                                                                               \
    X(mae, "rr", 1000000, 1, ONE, "stc")                                                                               \
    X(rmse, "rr", 1000000, 1, ONE, "stc")                                                                              \
    X(r_squared, "rr", 1000000, 1, ONE, "stc")                                                                         \
    X(mape, "rr", 1000000, 1, ONE, "sTC")                                                                              \
    X(relative_error, "rr", 1000000, 1, ONE, "C")                                                                      \
    X(relative_l2_error, "vv", 100000, 10, ONE, "C")                                                                   \
    X(explained_variance, "rr", 1000000, 1, ONE, "stC")                                                                \
    X(max_error, "rr", 1000000, 1, ONE, "=sc")                                                                         \
    X(huber_loss, "rr", 1000000, 1, ONE, "yc")                                                                         \
    X(charbonnier_loss, "rr", 1000000, 1, ONE, "c")                                                                    \
    X(quantile_loss, "rr", 1000000, 1, ONE, "sc")                                                                      \
    X(log_cosh_loss, "rr", 1000000, 1, ONE, "tc")                                                                      \
    X(smape, "rr", 1000000, 1, ONE, "tC")                                                                              \
    X(spectral_convergence, "ww", 1000000, 1, ONE, "C")                                                                \
    X(mel_cepstral_distortion, "ww", 1000000, 1, ONE, "C")                                                             \
    X(signal_to_noise_ratio, "ww", 1000000, 1, ONE, "C")                                                               \
    X(brier_score, "pb", 1000000, 1, ONE, "sc")                                                                        \
    X(expected_calibration_error, "pb", 1000000, 1, ONE, "tc")                                                         \
    X(maximum_calibration_error, "pb", 1000000, 1, ONE, "tc")                                                          \
    X(adaptive_calibration_error, "pb", 1000000, 1, ONE, "c")                                                          \
    X(classwise_ece, "Cl", 100000, 10, ONE, "c")                                                                       \
    X(accuracy, "ll", 1000000, 10, ONE, "sTC")                                                                         \
    X(precision, "zz", 1000000, 1, ONE, "sTC")                                                                         \
    X(recall, "zz", 1000000, 1, ONE, "sTC")                                                                            \
    X(f1_score, "zz", 1000000, 1, ONE, "sTC")                                                                          \
    X(fbeta_score, "zz", 1000000, 1, ONE, "sTC")                                                                       \
    X(roc_auc, "sb", 1000000, 1, ONE, "sTc")                                                                           \
    X(average_precision, "sb", 1000000, 1, ONE, "sTc")                                                                 \
    X(log_loss, "pb", 1000000, 1, ONE, "sc")                                                                           \
    X(matthews_corrcoef, "ll", 1000000, 10, ONE, "sT")                                                                 \
    X(cohen_kappa, "ll", 1000000, 10, ONE, "sTC")                                                                      \
    X(balanced_accuracy, "ll", 1000000, 10, ONE, "sc")                                                                 \
    X(specificity, "zz", 1000000, 1, ONE, "TC")                                                                        \
    X(sensitivity, "zz", 1000000, 1, ONE, "sTC")                                                                       \
    X(softmax_cross_entropy, "Ll", 100000, 10, ONE, "c")                                                               \
    X(confusion_matrix, "ll", 1000000, 10, TABLE, "=st")                                                               \
    X(adjusted_rand_index, "ll", 1000000, 100, ONE, "sTC")                                                             \
    X(normalized_mutual_information_clustering, "ll", 1000000, 100, ONE, "sTC")                                        \
    X(adjusted_mutual_information, "ll", 100000, 50, ONE, "s")                                                         \
    X(v_measure, "ll", 1000000, 100, ONE, "sTC")                                                                       \
    X(silhouette_score, "Pl", 4000, 8, ONE, "sC")                                                                      \
    X(calinski_harabasz_score, "Pl", 100000, 8, ONE, "sTC")                                                            \
    X(davies_bouldin_score, "Pl", 100000, 8, ONE, "sTC")                                                               \
    X(cosine_distance, "vv", 100000, 10, ONE, "sTC")                                                                   \
    X(euclidean_distance, "vv", 100000, 10, ONE, "sc")                                                                 \
    X(manhattan_distance, "vv", 100000, 10, ONE, "sc")                                                                 \
    X(chebyshev_distance, "rr", 1000000, 1, ONE, "=yc")                                                                \
    X(minkowski_distance, "rr", 1000000, 1, ONE, "ytc")                                                                \
    X(mahalanobis_distance, "vvQ", 100000, 10, ONE, "c")                                                               \
    X(hamming_distance, "ll", 1000000, 10, ONE, "yC")                                                                  \
    X(jaccard_distance, "bb", 1000000, 1, ONE, "yC")                                                                   \
    X(poincare_distance, "oo", 100000, 10, ONE, "C")                                                                   \
    X(lorentz_distance, "hh", 100000, 10, ONE, "c")                                                                    \
    X(randers_distance, "vv", 100000, 10, ONE, "")                                                                     \
    X(kl_divergence, "DD", 1000000, 1, ONE, "ytC")                                                                     \
    X(reverse_kl_divergence, "DD", 1000000, 1, ONE, "yC")                                                              \
    X(js_divergence, "DD", 1000000, 1, ONE, "ytC")                                                                     \
    X(total_variation, "DD", 1000000, 1, ONE, "yc")                                                                    \
    X(hellinger_distance, "DD", 1000000, 1, ONE, "yc")                                                                 \
    X(chi_squared_divergence, "DD", 1000000, 1, ONE, "yC")                                                             \
    X(renyi_divergence, "DD", 1000000, 1, ONE, "c")                                                                    \
    X(wasserstein_1d, "xx", 1000000, 1, ONE, "yc")                                                                     \
    X(kolmogorov_smirnov_distance, "xx", 1000000, 1, ONE, "yC")                                                        \
    X(mmd, "PP", 4000, 8, ONE, "sC")                                                                                   \
    X(mmd_squared_unbiased, "PP", 4000, 8, ONE, "sC")                                                                  \
    X(sinkhorn_divergence, "PP", 300, 2, ONE, "o")                                                                     \
    X(sliced_wasserstein, "PP", 10000, 2, ONE, "oc")                                                                   \
    X(demographic_parity_ratio, "sl", 1000000, 4, ONE, "oC")                                                           \
    X(disparate_impact_ratio, "sl", 1000000, 4, ONE, "oC")                                                             \
    X(equal_opportunity_difference, "sbl", 1000000, 4, ONE, "oC")                                                      \
    X(equalized_odds_difference, "sbl", 1000000, 4, ONE, "oC")                                                         \
    X(crps, "Er", 100000, 20, ONE, "otC")                                                                              \
    X(fair_crps, "Er", 100000, 20, ONE, "C")                                                                           \
    X(energy_score, "VG", 10000, 3, ONE, "C")                                                                          \
    X(spread_skill_ratio, "Er", 100000, 20, ONE, "C")                                                                  \
    X(ranked_probability_score, "Cl", 100000, 10, ONE, "c")                                                            \
    X(event_reliability, "pb", 1000000, 1, ONE, "c")                                                                   \
    X(frechet_feature_distance, "PP", 10000, 64, ONE, "yC")                                                            \
    X(inception_score, "C", 100000, 10, ONE, "C")                                                                      \
    X(correlation_preservation, "PP", 100000, 16, ONE, "C")                                                            \
    X(manifold_precision, "PP", 2000, 16, ONE, "s")                                                                    \
    X(manifold_recall, "PP", 2000, 16, ONE, "s")                                                                       \
    X(density_weighted_precision, "PP", 2000, 16, ONE, "s")                                                            \
    X(density_weighted_recall, "PP", 2000, 16, ONE, "s")                                                               \
    X(manifold_radii, "P", 4000, 8, EACH, "sy")                                                                        \
    X(distance_to_closest_record, "PP", 4000, 8, ONE, "syC")                                                           \
    X(memorization_rate, "PP", 4000, 8, ONE, "=C")                                                                     \
    X(chamfer_distance, "PP", 10000, 3, ONE, "syC")                                                                    \
    X(directed_hausdorff, "PP", 10000, 3, ONE, "yC")                                                                   \
    X(hausdorff_distance, "PP", 10000, 3, ONE, "yC")                                                                   \
    X(earth_movers_distance_1d, "xx", 1000000, 1, ONE, "yc")                                                           \
    X(rmsd, "PP", 1000000, 3, ONE, "C")                                                                                \
    X(kabsch_rmsd, "PP", 1000000, 3, ONE, "y")                                                                         \
    X(spectral_distance, "AA", 400, 1, ONE, "oC")                                                                      \
    X(graph_edit_distance_approx, "AA", 400, 1, ONE, "")                                                               \
    X(resistance_distance, "A", 400, 1, SQUARE, "oC")                                                                  \
    X(shortest_path_distance, "A", 400, 1, SQUARE, "=yc")                                                              \
    X(psnr, "ii", 1000, 1, ONE, "oTC")                                                                                 \
    X(ssim, "ii", 1000, 1, ONE, "oTC")                                                                                 \
    X(ms_ssim, "ii", 1000, 1, ONE, "TC")                                                                               \
    X(vendi_score, "S", 400, 1, ONE, "yC")                                                                             \
    X(entropy, "D", 1000000, 1, ONE, "yc")                                                                             \
    X(cross_entropy, "DD", 1000000, 1, ONE, "c")                                                                       \
    X(mutual_information, "J", 1000, 1000, ONE, "yc")                                                                  \
    X(conditional_entropy, "J", 1000, 1000, ONE, "yc")                                                                 \
    X(normalized_mutual_information, "J", 1000, 1000, ONE, "C")                                                        \
    X(spd_affine_invariant_distance, "SS", 200, 1, ONE, "yC")                                                          \
    X(spd_log_euclidean_distance, "SS", 200, 1, ONE, "yC")                                                             \
    X(grassmann_distance, "FF", 1000, 20, ONE, "yC")                                                                   \
    X(stiefel_distance, "FF", 1000, 20, ONE, "C")                                                                      \
    X(ultrahyperbolic_distance, "hh", 100000, 10, ONE, "C")                                                            \
    X(ndcg, "sg", 1000000, 1, ONE, "sTC")                                                                              \
    X(ndcg_at_k, "sg", 1000000, 1, ONE, "sTC")                                                                         \
    X(mean_average_precision, "sb", 1000000, 1, ONE, "sTC")                                                            \
    X(precision_at_k, "sb", 1000000, 1, ONE, "tc")                                                                     \
    X(recall_at_k, "sb", 1000000, 1, ONE, "TC")                                                                        \
    X(hit_rate, "sb", 1000000, 1, ONE, "=tc")                                                                          \
    X(mean_reciprocal_rank, "sb", 1000000, 1, ONE, "=tc")                                                              \
    X(coverage, "l", 1000000, 1000, ONE, "=")                                                                          \
    X(iou, "zz", 1000000, 1, ONE, "sTC")                                                                               \
    X(dice_coefficient, "zz", 1000000, 1, ONE, "sTC")                                                                  \
    X(pixel_accuracy, "ll", 1000000, 10, ONE, "sTC")                                                                   \
    X(pearson_correlation, "rr", 1000000, 1, ONE, "ytc")                                                               \
    X(spearman_rank_correlation, "xx", 1000000, 1, ONE, "yTc")                                                         \
    X(kendall_tau, "xx", 1000000, 1, ONE, "y")                                                                         \
    X(concordance_correlation, "rr", 1000000, 1, ONE, "Tc")                                                            \
    X(r_squared_adjusted, "rr", 1000000, 1, ONE, "tc")                                                                 \
    X(skewness, "r", 1000000, 1, ONE, "yC")                                                                            \
    X(bleu, "tT", 10000, 1000, ONE, "oT")                                                                              \
    X(rouge_n, "tt", 10000, 1000, ONE, "oc")                                                                           \
    X(rouge_l, "tt", 2000, 1000, ONE, "oc")                                                                            \
    X(perplexity, "n", 1000000, 1, ONE, "C")                                                                           \
    X(distinct_n, "t", 10000, 1000, ONE, "c")                                                                          \
    X(picp, "rur", 1000000, 1, ONE, "C")                                                                               \
    X(mpiw, "ru", 1000000, 1, ONE, "c")                                                                                \
    X(interval_score, "rur", 1000000, 1, ONE, "c")                                                                     \
    X(gaussian_nll, "rmr", 1000000, 1, ONE, "yc")                                                                      \
    X(regression_calibration_error, "p", 1000000, 1, ONE, "")                                                          \
    X(anees, "vMv", 100000, 3, ONE, "c")                                                                               \
    X(non_credibility_index, "vMvM", 100000, 3, ONE, "c")                                                              \
    X(predictive_entropy, "K", 100000, 5, ONE, "C")                                                                    \
    X(ensemble_mutual_information, "K", 100000, 5, ONE, "c")

#define CBX__MS_INPUTS  4
#define CBX__MS_MEMBERS 8 /* of an ensemble of vectors or classes */
#define CBX__MS_TEXTS   3 /* references of a text */

typedef struct cbx__ms_row {
    const char *name, *operands;
    cbx__ms_result result;
    const char *rivals;
} cbx__ms_row;

typedef struct cbx__ms_point {
    const cbx__ms_row *row;
    size_t n, d, operands;
    uint64_t seed;
} cbx__ms_point;

cbx__ms_point cbx__ms_read(const cbx_params *params);
/** Shape and dtype of operand i; an empty array for those that the metric does not have. */
void cbx__ms_input(const cbx__ms_point *p, size_t i, cbx_array_desc *out);

cbx_status cbx__ms_make_inputs(cbx_ctx *ctx, const cbx_params *params, cbx_array **in, cbx_err *err);
cbx_status cbx__ms_rotate_inputs(cbx_ctx *ctx, const cbx_params *params, uint64_t r, cbx_array *const *in,
                                 cbx_array **rotated, cbx_err *err);
cbx_status cbx__ms_rotate_output(cbx_ctx *ctx, const cbx_params *params, uint64_t r, size_t output, const cbx_array *a,
                                 cbx_array **rotated, cbx_err *err);

#endif
