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
    CBX__MS_ONE, /* one number */
    CBX__MS_FOUR,
    CBX__MS_FIVE,
    CBX__MS_TEN,
    CBX__MS_TEN_BY_THREE,
    CBX__MS_EACH,      /* n numbers */
    CBX__MS_N_BY_TWO,  /* n by 2 */
    CBX__MS_ROWS,      /* n by d */
    CBX__MS_SQUARE,    /* n by n */
    CBX__MS_D_AND_ONE, /* d + 1 numbers */
    CBX__MS_D_BY_SIX,  /* d by 6 */
    CBX__MS_TABLE      /* d by d */
} cbx__ms_result;

/*
 * X(name, operands, n, d, result, rivals), sorted by domain as the registry is.
 *
 * operands  a letter each: kinds in inputs.c
 * rivals    s scikit-learn, y SciPy, o the domain's own package, l pytorch-metric-learning,
 *           t torchmetrics, c the Python package calibrax;
 *           L, T and C: those where they compute in float32, or in another way that is less exact;
 *           none: see CBX__MS_ALONE_MAP
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
    X(reliability_diagram_bins, "pb", 1000000, 1, TEN_BY_THREE, "sc")                                                  \
    X(brier_decomposition, "pb", 1000000, 1, FIVE, "")                                                                 \
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
    X(randers_distance, "vv", 100000, 10, ONE, "c")                                                                    \
    X(kl_divergence, "DD", 1000000, 1, ONE, "ytC")                                                                     \
    X(reverse_kl_divergence, "DD", 1000000, 1, ONE, "yC")                                                              \
    X(js_divergence, "DD", 1000000, 1, ONE, "ytC")                                                                     \
    X(total_variation, "DD", 1000000, 1, ONE, "yc")                                                                    \
    X(hellinger_distance, "DD", 1000000, 1, ONE, "yc")                                                                 \
    X(chi_squared_divergence, "DD", 1000000, 1, ONE, "yC")                                                             \
    X(renyi_divergence, "DD", 1000000, 1, ONE, "c")                                                                    \
    X(f_divergence, "DD", 1000000, 1, ONE, "yC")                                                                       \
    X(wasserstein_1d, "xx", 1000000, 1, ONE, "yc")                                                                     \
    X(kolmogorov_smirnov_distance, "xx", 1000000, 1, ONE, "yC")                                                        \
    X(mmd, "PP", 4000, 8, ONE, "sC")                                                                                   \
    X(mmd_squared_unbiased, "PP", 4000, 8, ONE, "sC")                                                                  \
    X(sinkhorn_divergence, "PP", 300, 2, ONE, "o")                                                                     \
    X(sliced_wasserstein, "PP", 10000, 2, ONE, "oc")                                                                   \
    X(bregman_divergence, "mm", 1000000, 1, ONE, "yc")                                                                 \
    X(demographic_parity_ratio, "sl", 100000, 4, ONE, "oC")                                                            \
    X(disparate_impact_ratio, "sl", 100000, 4, ONE, "oC")                                                              \
    X(equal_opportunity_difference, "sbl", 100000, 4, ONE, "oC")                                                       \
    X(equalized_odds_difference, "sbl", 100000, 4, ONE, "oC")                                                          \
    X(group_metric_breakdown, "sbl", 100000, 4, D_BY_SIX, "o")                                                         \
    X(fid, "PP", 10000, 64, ONE, "tC")                                                                                 \
    X(kid, "PP", 300, 64, ONE, "t")                                                                                    \
    X(image_inception_score, "L", 100000, 10, ONE, "tC")                                                               \
    X(lpips, "VV", 1000, 64, ONE, "")                                                                                  \
    X(bert_score, "VV", 1000, 32, ONE, "tC")                                                                           \
    X(inverse_document_frequency, "XX", 10000, 20, ROWS, "")                                                           \
    X(crps, "Er", 100000, 20, ONE, "otC")                                                                              \
    X(fair_crps, "Er", 100000, 20, ONE, "C")                                                                           \
    X(energy_score, "VG", 10000, 3, ONE, "C")                                                                          \
    X(spread_skill_ratio, "Er", 100000, 20, ONE, "C")                                                                  \
    X(rank_histogram, "Er", 100000, 20, D_AND_ONE, "=c")                                                               \
    X(ensemble_ranked_probability_score, "Ere", 100000, 20, ONE, "C")                                                  \
    X(ranked_probability_score, "Cl", 100000, 10, ONE, "c")                                                            \
    X(ranked_probability_skill_score, "mm", 1000000, 1, EACH, "c")                                                     \
    X(event_reliability, "pb", 1000000, 1, ONE, "c")                                                                   \
    X(pit_histogram, "rmr", 1000000, 1, TEN, "=yc")                                                                    \
    X(frechet_feature_distance, "PP", 10000, 64, ONE, "yC")                                                            \
    X(frechet_distance, "vMvM", 1000, 8, ONE, "y")                                                                     \
    X(inception_score, "C", 100000, 10, ONE, "C")                                                                      \
    X(inception_score_per_split, "C", 100000, 10, TEN, "C")                                                            \
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
    X(pairwise_rmsd, "V", 500, 3, SQUARE, "yC")                                                                        \
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
    X(fisher_information_matrix, "r", 100, 1, SQUARE, "c")                                                             \
    X(contrastive_loss, "Pl", 500, 16, ONE, "lC")                                                                      \
    X(lifted_structure_loss, "Pl", 128, 16, ONE, "l")                                                                  \
    X(nt_xent_loss, "Pl", 128, 16, ONE, "l")                                                                           \
    X(supervised_contrastive_loss, "Pl", 500, 16, ONE, "lC")                                                           \
    X(multi_similarity_loss, "Pl", 500, 16, ONE, "l")                                                                  \
    X(circle_loss, "Pl", 500, 16, ONE, "l")                                                                            \
    X(n_pairs_loss, "PP", 500, 16, ONE, "l")                                                                           \
    X(info_nce_loss, "PP", 500, 16, ONE, "l")                                                                          \
    X(triplet_margin_loss, "Pl", 500, 16, ONE, "lC")                                                                   \
    X(triplet_soft_margin_loss, "Pl", 500, 16, ONE, "l")                                                               \
    X(margin_based_loss, "Pl", 500, 16, ONE, "L")                                                                      \
    X(normalized_softmax_loss, "Plk", 10000, 32, ONE, "l")                                                             \
    X(arcface_loss, "Plk", 10000, 32, ONE, "lC")                                                                       \
    X(cosface_loss, "Plk", 10000, 32, ONE, "lC")                                                                       \
    X(sphereface_loss, "Plk", 10000, 32, ONE, "l")                                                                     \
    X(proxy_nca_loss, "Plk", 10000, 32, ONE, "l")                                                                      \
    X(proxy_anchor_loss, "Plk", 10000, 32, ONE, "lC")                                                                  \
    X(center_loss, "Plk", 10000, 32, ONE, "l")                                                                         \
    X(mine_hard_negatives, "Pl", 500, 16, SQUARE, "=l")                                                                \
    X(mine_semi_hard_negatives, "Pl", 500, 16, SQUARE, "=")                                                            \
    X(mine_distance_weighted_negatives, "PlU", 500, 16, SQUARE, "=")                                                   \
    X(mine_multi_similarity_pairs, "Pl", 500, 16, SQUARE, "=l")                                                        \
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
    X(coverage, "l", 1000000, 1000, ONE, "=c")                                                                         \
    X(chemical_validity, "xx", 1000000, 1, ONE, "C")                                                                   \
    X(binding_affinity_metrics, "rr", 1000000, 1, FOUR, "sc")                                                          \
    X(conformational_diversity, "V", 1000, 3, ONE, "yc")                                                               \
    X(iou, "zz", 1000000, 1, ONE, "sTC")                                                                               \
    X(dice_coefficient, "zz", 1000000, 1, ONE, "sTC")                                                                  \
    X(pixel_accuracy, "ll", 1000000, 10, ONE, "sTC")                                                                   \
    X(pearson_correlation, "rr", 1000000, 1, ONE, "ytc")                                                               \
    X(spearman_rank_correlation, "xx", 1000000, 1, ONE, "yTc")                                                         \
    X(kendall_tau, "xx", 1000000, 1, ONE, "y")                                                                         \
    X(concordance_correlation, "rr", 1000000, 1, ONE, "tC")                                                            \
    X(r_squared_adjusted, "rr", 1000000, 1, ONE, "tc")                                                                 \
    X(skewness, "r", 1000000, 1, ONE, "yC")                                                                            \
    X(autocorrelation, "Y", 200, 100, EACH, "yC")                                                                      \
    X(quantile, "x", 1000000, 1, ONE, "yo")                                                                            \
    X(streaming_quantile, "p", 1000000, 1, ONE, "o")                                                                   \
    X(streaming_roc_auc, "sb", 1000000, 1, ONE, "s")                                                                   \
    X(streaming_average_precision, "sb", 1000000, 1, ONE, "s")                                                         \
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
    X(chi2_confidence_interval, "m", 10000, 1, N_BY_TWO, "yc")                                                         \
    X(predictive_entropy, "K", 100000, 5, ONE, "C")                                                                    \
    X(ensemble_mutual_information, "K", 100000, 5, ONE, "c")

/* X(name, why no rival has it) */
#define CBX__MS_ALONE_MAP(X)                                                                                           \
    X(brier_decomposition, "the Python package ignores what predictions differ in a bin")                              \
    X(lpips, "other packages have it with its network alone")                                                          \
    X(inverse_document_frequency, "other packages have it for texts alone, or private")                                \
    X(graph_edit_distance_approx, "a lower bound; the Python package has another number")                              \
    X(mine_semi_hard_negatives, "other packages make lists of triplets")                                               \
    X(mine_distance_weighted_negatives, "other packages draw their own random numbers")                                \
    X(regression_calibration_error, "the Python package takes means and variances")

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
