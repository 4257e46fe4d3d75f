/* Edges of metrics: results that no package has, and refusals with their sentences. */
#include "cases.h"
#include "draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/transform.h"
#include "calibrax/metrics/stateful/state.h"
#include "fail_alloc.h"

static cbx_err err;

typedef struct edge {
    const char *metric, *operands; /* arrays "shape: elements; ..." */
    double result;
    const char *refusal; /* NULL: the result counts */
} edge;

static const edge edges[] = {
    { "chamfer_distance", "1 2: 0 0; 2 2: 3 4 nan 1", NAN, NULL },
    { "hausdorff_distance", "2 2: 1e-300 0 0 1; 2 2: 1e-300 0 0 1", 0, NULL },
    { "hausdorff_distance", "2 2: 1 0 0 1; 2 3: 1 0 0 1 1 1", 0,
      "hausdorff_distance: 'x' and 'y' must have rows of one shape: float64 (2, 2) and float64 (2, 3)" },
    { "earth_movers_distance_1d", "1: 1; 3: 4 4 4", 3, NULL },
    { "earth_movers_distance_1d", "2: 1 nan; 3: 4 4 4", 0,
      "earth_movers_distance_1d: 'x'[1] is nan: it must be a number" },
    { "rmsd", "1 3: 1 2 3; 1 3: 9 9 9", 0, NULL },
    { "kabsch_rmsd", "3 2: 0 0 1 0 0 2; 3 2: 0 0 1 0 0 -2", 0.78724518968531743, NULL }, /* a mirror image */
    { "poincare_distance", "2: 0.6 0.8; 2: 0 0", 0,
      "poincare_distance: 'x': curvature |x|^2 must be below 1, and that of row 0 is 1.0" },
    { "poincare_distance", "2 1: 0 0.25; 2 1: 0 1.5", 0,
      "poincare_distance: 'y': curvature |x|^2 must be below 1, and that of row 1 is 2.25" },
    { "lorentz_distance", "2: 1 0; 2: 1 1", 0,
      "lorentz_distance: 'y': -x0^2 + x1^2 + ... must be -1, and its relative error of row 0 is 0.5" },
    { "lorentz_distance", "2: -1 0; 2: 1 0", 0,
      "lorentz_distance: 'x': the first number must be positive, and minus that of row 0 is 1.0" },
    { "randers_distance", "2: 0 0; 2: 3 4; 2: 0 0", 5, NULL },
    { "spd_affine_invariant_distance", "2 2: 1 0 0 1e-9; 2 2: 2 0 0 1e-9", 0.69314718055994530942, NULL },
    { "spd_affine_invariant_distance", "2 2: 1 2 2 1; 2 2: 1 0 0 1", 0,
      "spd_affine_invariant_distance: 'a' must be positive definite: an eigenvalue is -1.0" },
    { "spd_affine_invariant_distance", "2 2: 1 0 0 1; 2 2: 1 0 0 0", 0,
      "spd_affine_invariant_distance: 'b' must be positive definite: an eigenvalue is 0.0" },
    { "spd_log_euclidean_distance", "2 2: 1 0 0 1; 2 2: 1 0.5 0 1", 0,
      "spd_log_euclidean_distance: 'b' must be symmetric, and [0, 1] is 0.5, [1, 0] is 0.0: use (x + x^T) / 2" },
    { "grassmann_distance", "2 1: 1 0; 2 1: 0 1", 1.57079632679489661923, NULL },
    { "grassmann_distance", "2 1: 1 0; 2 1: 1 1e-12", 1e-12, NULL },
    { "stiefel_distance", "2 1: 1 0; 2 1: 1 1", 0,
      "stiefel_distance: 'v' must have orthonormal columns: the product of columns 0 and 0 is 2.0" },
    { "grassmann_distance", "2 1: inf 0; 2 1: 0 1", 0,
      "grassmann_distance: 'u' must have orthonormal columns: [0, 0] is inf" },
    { "grassmann_distance", "3 2: 1 0 0 1 0 0; 3 2: 1 0 0 inf 0 -inf", 0,
      "grassmann_distance: 'v' must have orthonormal columns: [1, 1] is inf" },
    { "stiefel_distance", "2 1: 1 0; 2 1: 0 -inf", 0,
      "stiefel_distance: 'v' must have orthonormal columns: [1, 0] is -inf" },
    { "ultrahyperbolic_distance", "2: 1 0; 2: -1 0", INFINITY, NULL },
    { "spectral_distance", "3 3: 0 1 0 1 0 1 0 1 0; 4 4: 0 1 0 0 1 0 1 0 0 1 0 0 0 0 0 0", 0, NULL },
    { "graph_edit_distance_approx", "3 3: 0 1 0 1 0 1 0 1 0; 3 3: 0 1 1 1 0 0 1 0 0", 0, NULL }, /* a relabelled path */
    { "graph_edit_distance_approx", "2 2: 0 1 0 0; 2 2: 0 1 1 0", 0,
      "graph_edit_distance_approx: 'a' must be symmetric, and [0, 1] differs from [1, 0]" },
    { "psnr", "2 2: 1 2 3 4; 2 2: 1 2 3 4", INFINITY, NULL },
    { "ssim", "3 3: 1 2 3 4 5 6 7 8 9; 3 3: 1 2 3 4 5 6 7 8 9", 0,
      "ssim: images must have at least 11 by 11 pixels, not 3 by 3: use a smaller 'filter_size'" },
    { "ms_ssim", "3 3: 1 2 3 4 5 6 7 8 9; 3 3: 1 2 3 4 5 6 7 8 9", 0,
      "ms_ssim: images must have at least 176 by 176 pixels, not 3 by 3: use a smaller 'filter_size' or fewer scales" },
    { "vendi_score", "2 2: 1 1 1 1", 1, NULL },
    { "vendi_score", "2 2: 1 0 0 1", 2, NULL },
    { "vendi_score", "2 2: 1 2 2 1", 0, "vendi_score: 'similarity' must have no negative eigenvalue, and one is -1.0" },
    { "sinkhorn_divergence", "2 1: 0 nan; 2 1: 0 1", NAN, NULL },
    { "mahalanobis_distance", "1: 1; 1: 0; 1 1: -1", 0,
      "mahalanobis_distance: 'precision_matrix' must be positive semidefinite, and its minor of row 0 is -1.0" },
    { "mahalanobis_distance", "2: 1 1; 2: 0 0; 2 2: 1 2 2 1", 0,
      "mahalanobis_distance: 'precision_matrix' must be positive semidefinite, and its minor of rows 0 and 1 is -3.0" },
    { "mahalanobis_distance", "2: 1 1; 2: 0 0; 2 2: 1 0 -0.5 1", 0,
      "mahalanobis_distance: 'precision_matrix' must be symmetric, and [0, 1] is 0.0, [1, 0] is -0.5: use (x + x^T) / "
      "2" },
    { "mahalanobis_distance", "2: 1 -1; 2: 0 0; 2 2: 1 1 1 1", 0, NULL }, /* a direction that does not count */
    { "frechet_distance", "1: 0; 1 1: 1; 1: 1; 1 1: -1", 0,
      "frechet_distance: 'generated_covariance' must be positive semidefinite: pivot 0 of its Cholesky factor is "
      "-1.0" },
    { "frechet_distance", "2 1: 0 0; 2 1 1: 1 1; 2 1: 1 1; 2 1 1: 1 -1", 0,
      "frechet_distance: 'generated_covariance'[1] must be positive semidefinite: pivot 0 of its Cholesky factor is "
      "-1.0" },
    { "frechet_distance", "2: 0 0; 2 2: 1 1 1 1; 2: 3 4; 2 2: 1 1 1 1", 25, NULL }, /* singular */
    { "frechet_distance", "1: 0; 1 1: nan; 1: 1; 1 1: 1", NAN, NULL },
    { "bleu", "3: 5 6 7; 1 3: 5 6 7", 1, NULL }, /* too short for four words in a row */
    { "bleu", "0:; 1 3: 5 6 7", 0, NULL },
    { "bleu", "2: 5 6; 2 3: 6 5 -1 5 6 -1", 1, NULL },
    { "bleu", "2: 5 -2; 1 1: 5", 0, "bleu: 'candidate'[1] is -2: it must be at least 0" },
    { "rouge_l", "0:; 0:", 0, NULL },
    { "rouge_n", "1: 3; 1: 3", 1, NULL },
    { "distinct_n", "0:", 0, NULL },
    { "perplexity", "2: -1e3 -1e3", INFINITY, NULL },
    { "perplexity", "2: -1 0.5", 0, "perplexity: 'log_probs'[1] is 0.5: it must be at most 0" },
    { "kl_divergence", "2: 0.5 0.5; 2: 1 0", INFINITY, NULL },
    { "kl_divergence", "2: 0.5 0.6; 2: 1 0", 0, "kl_divergence: the sum of 'p' is 1.1, not 1: divide by it" },
    { "renyi_divergence", "2: 1 0; 2: 0 1", INFINITY, NULL },
    { "renyi_divergence", "2: 0.5 0.5; 2: 0.5 0.5", 0, NULL },
    { "wasserstein_1d", "2: 0 1; 2: 0 1; 3: 1 1 1", 0,
      "wasserstein_1d: 'x_weights' must have 2 items, as 'x', not float64 (3,)" },
    { "mmd_squared_unbiased", "1 1: 0; 2 1: 0 1", 0, "mmd_squared_unbiased: 'x' must have at least 2 points, got 1" },
    { "normalized_mutual_information", "1 1: 1", 1, NULL },
    { "normalized_mutual_information", "1 2: 0.5 0.5", 0, NULL },
    { "normalized_mutual_information", "1 2: 0.5 0.4999999999999999", 0, NULL }, /* rounded */
    { "pearson_correlation", "2: 1 1; 2: 1 2", NAN, NULL },
    { "kendall_tau", "3: 2 2 2; 3: 1 2 3", NAN, NULL },
    { "spearman_rank_correlation", "3: 2 2 2; 3: 1 2 3", NAN, NULL },
    { "skewness", "3: 2 2 2", 0, NULL },
    { "calinski_harabasz_score", "4 1: 0.1 0.1 0.1 0.1; 4: 0 0 0 1", 1, NULL },
    { "r_squared", "3: 1 2 3; 3: 2 2 2", 0, NULL },
    { "explained_variance", "3: 3 3 3; 3: 2 2 2", 1, NULL },
    { "smape", "2: 1e308 1.5e308; 2: 0 -1.5e308", 2, NULL },
    { "smape", "2: 1.5e308 5e-324; 2: 1e308 0", 1.2, NULL },
    { "resistance_distance", "1 2: 1 2", 0, "resistance_distance: 'adjacency' must be square, not 1 by 2" },
    { "ndcg", "3: 1 2 3; 3: 0 0 0", 0, NULL },
    { "ndcg", "2: 1 1; 2: 1 0", 0.5 + 0.31546487678572871, NULL }, /* half of the places 1 and 2 */
    { "ndcg", "2: 1 nan; 2: 1 0", 0, "ndcg: 'predictions'[1] is nan: it must be a number" },
    { "ndcg", "2: 1 2; 2: 1 -1", 0, "ndcg: 'targets'[1] is -1.0: it must be at least 0" },
    { "kendall_tau", "4: 1 2 2 3; 4: 1 3 2 4", 0.912870929175277, NULL },
    { "kendall_tau", "4: 1 2 3 4; 4: 4 3 2 1", -1, NULL },
    { "kendall_tau", "3: 1 1 1; 3: 1 2 3", NAN, NULL },
    { "kendall_tau", "3: 1 nan 1; 3: 1 2 3", 0, "kendall_tau: 'x'[1] is nan: it must be a number" },
    { "spearman_rank_correlation", "4: 1 2 2 4; 4: 1 3 2 4", 0.9486832980505139, NULL },
    { "spearman_rank_correlation", "3: 1e-300 1 1e300; 3: 3 2 1", -1, NULL },
    { "spearman_rank_correlation", "3: 1 1 1; 3: 1 2 3", NAN, NULL },
    { "spearman_rank_correlation", "3: 1 nan 1; 3: 1 2 3", 0,
      "spearman_rank_correlation: 'x'[1] is nan: it must be a number" },
    { "r_squared", "3: 3 2 1; 3: 1 2 3", -3, NULL },
    { "r_squared", "2: 2 2; 2: 2 2", 1, NULL },
    { "r_squared", "2: 2 3; 2: 2 2", 0, NULL },
    { "r_squared_adjusted", "2: 1 3; 2: 1 2", -INFINITY, NULL },
    { "r_squared_adjusted", "1: 1; 1: 2", NAN, NULL }, /* fewer items than the model has parameters */
    { "r_squared", "2: 2 nan; 2: 2 3", NAN, NULL },
    { "explained_variance", "3: 11 12 13; 3: 1 2 3", 1, NULL },
    { "explained_variance", "2: 2 3; 2: 2 2", 0, NULL },
    { "cosine_distance", "2: 1 0; 2: -2 0", 2, NULL },
    { "cosine_distance", "2 2: 0 0 1e200 0; 2 2: 1 0 1e-200 0", 0.5, NULL }, /* 1 from a vector of 0 */
    { "roc_auc", "2: 0.2 0.3; 2: 1 1", NAN, NULL },                          /* one class */
    { "roc_auc", "4: 0.2 0.3 0.3 0.2; 4: 1 0 1 0", 0.5, NULL },
    { "log_loss", "2: 0.25 0.5; 2: 0 1", 0.4904146265058631, NULL },
    { "log_loss", "2: 1 1; 2: 0 1", 18.021826694558577, NULL }, /* -log(eps) / 2 */
    { "log_loss", "1 2: 0.5 0.5; 1: 2", 0,
      "log_loss: 'targets'[0] is 2: it must be below 2, the number of classes in 'predictions'" },
    { "accuracy", "4: 0 2 2 1; 4: 0 1 2 2", 0.5, NULL },
    { "cohen_kappa", "2: 0 1e9; 2: 0 1", 0,
      "cohen_kappa: 'predictions'[1] is 1000000000: it must be below 16777216, the maximum of 'num_classes': number "
      "the "
      "labels that occur from 0 on" },
    { "silhouette_score", "2 1: 0 1; 2: 0 1e9", 0,
      "silhouette_score: 'labels'[1] is 1000000000: it must be below 1048576, the maximum of 'num_clusters': number "
      "the "
      "labels that occur from 0 on" },
    { "davies_bouldin_score", "2 1: 0 1; 2: 0 1e5", 0,
      "davies_bouldin_score: a table of 100001 by 100001 by 1 differences is too large: number the clusters "
      "that "
      "occur from 0 on" },
    { "adjusted_mutual_information", "2: 0 1e9; 2: 0 1", 1, NULL },
    { "matthews_corrcoef", "3: 1 1 1; 3: 0 1 1", 0, NULL },
    { "matthews_corrcoef", "2: 1 0; 2: 0 1", -1, NULL },
    { "cohen_kappa", "2: 1 1; 2: 1 1", NAN, NULL },
    { "cohen_kappa", "2: 1 0; 2: 0 1", -1, NULL },
    { "mape", "2: 1 1; 2: 0 1", 0x1p51, NULL }, /* a target of 0 counts as 2^-52 */
    { "mape", "2: 0 1; 2: 0 1", 0, NULL },
    { "softmax_cross_entropy", "1 2: 40 0; 1: 0", 0, NULL },
    { "softmax_cross_entropy", "2 2: 1e3 0 0 -1e3; 2: 1 0", 500, NULL },
    { "precision_at_k", "2: 2 1; 2: 1 1", 0.2, NULL },
    { "mean_average_precision", "2: 2 1; 2: 0 0", 0, NULL },
    { "mean_reciprocal_rank", "4: 2 1 1 1; 4: 0 0 0 1", 13 / 36.0, NULL }, /* (1/2 + 1/3 + 1/4) / 3 */
    { "hit_rate", "1: 3; 1: 0", 0, NULL },
    { "coverage", "4: 0 3 3 0", 0.5, NULL },
    { "expected_calibration_error", "2: 0.5 1.5; 2: 0 1", 0,
      "expected_calibration_error: 'predictions'[1] is 1.5: it must be between 0 and 1" },
    { "expected_calibration_error", "1: 1; 1: 0", 1, NULL },
    { "adaptive_calibration_error", "2: 0.25 0.75; 2: 0 1", 0.25, NULL },
    { "classwise_ece", "1 2: 0.5 0.5; 1: 2", 0,
      "classwise_ece: 'targets'[0] is 2: it must be below 2, the number of classes in 'predictions'" },
    { "classwise_ece", "1 2: 0.5 0.25; 1: 1", 0,
      "classwise_ece: the sum of 'predictions'[0] is 0.75, not 1: divide by it" },
    { "iou", "2: 0 0; 2: 0 0", 1, NULL },
    { "dice_coefficient", "2: 0 0; 2: 0 0", 1, NULL },
    { "iou", "2: 0 255; 2: 0 255", 0, "iou: 'predictions'[1] is 255: it must be below 2: the labels are 0 and 1" },
    { "adjusted_rand_index", "3: 0 1 2; 3: 2 0 1", 1, NULL },
    { "adjusted_mutual_information", "3: 0 1 2; 3: 2 0 1", 1, NULL },
    { "adjusted_mutual_information", "3: 0 0 0; 3: 1 1 1", 1, NULL },
    { "adjusted_mutual_information", "3: 0 0 0; 3: 0 1 2", 0, NULL },
    { "silhouette_score", "3 1: 0 1 5; 3: 0 0 0", 0,
      "silhouette_score: 'labels' has one cluster: at least two are compared" },
    { "silhouette_score", "2 1: 0 1; 2: 0 1", 0, NULL },
    { "silhouette_score", "3 1: 0 nan 5; 3: 0 0 1", NAN, NULL },
    { "davies_bouldin_score", "3 1: 0 1 5; 3: 2 2 2", 0,
      "davies_bouldin_score: 'labels' has one cluster: at least two are compared" },
    { "calinski_harabasz_score", "2 1: 0 1; 2: 0 1", 1, NULL },
    { "demographic_parity_ratio", "2: 0 0.5; 2: 0 1", 1, NULL },
    { "demographic_parity_ratio", "2: 1 1; 2: 0 3", 1, NULL }, /* no items of groups 1 and 2 */
    { "equal_opportunity_difference", "3: 1 0 0; 3: 1 0 0; 3: 0 1 1", 0, NULL },
    { "equalized_odds_difference", "3: 1 1 0; 3: 1 0 0; 3: 0 1 2", 1, NULL },
    { "gaussian_nll", "1: 0; 1: 0; 1: 0", 0, "gaussian_nll: 'variance'[0] is 0.0: it must be above 0" },
    { "contrastive_loss", "1 2: 3 4; 1: 0", 0, NULL },
    { "contrastive_loss", "2 1: 1 1; 2: 0 0; 2 1: 1 1", 0,
      "contrastive_loss: 'pairs' must be (2, 2), not float64 (2, 1): a number for each pair of items" },
    { "triplet_margin_loss", "3 1: 0 1 5; 3: 1 1 1", 0, NULL },
    { "triplet_margin_loss", "3 1: 0 1 1; 3: 0 0 1", 0.7, NULL }, /* 1.2 and 0.2 of a tie */
    { "triplet_margin_loss", "3 1: 0 1 5; 3: 0 0 1; 3 3: -1 -1 -1 -1 -1 -1 -1 -1 -1", 0, NULL }, /* nothing mined */
    { "triplet_margin_loss", "2 1: 0 1; 2: 0 0; 2 2: -1 2 -1 -1", 0,
      "triplet_margin_loss: 'negatives'[0, 1] is 2: it must be below 2, the number of items" },
    { "triplet_margin_loss", "2 1: 0 1; 2: 0 0; 2 2: -1 -2 -1 -1", 0,
      "triplet_margin_loss: 'negatives'[0, 1] is -2: it must be at least -1" },
    { "triplet_soft_margin_loss", "2 1: 0 1; 2: 0 1", 0, NULL },
    { "margin_based_loss", "2 1: 0 1; 2: 0 1", 0, NULL },
    { "lifted_structure_loss", "2 1: 0 9; 2: 0 0", 0, NULL },
    { "nt_xent_loss", "2 1: 1 2; 2: 0 0", 0, NULL },
    { "supervised_contrastive_loss", "2 1: 1 2; 2: 0 1", 0, NULL },
    { "supervised_contrastive_loss", "3 1: 1e200 1e-200 -3; 3: 0 0 1", 2.0611536181902037e-09,
      NULL }, /* log(1 + e^-20) */
    { "circle_loss", "2 1: 1 2; 2: 0 0", 0, NULL },
    { "multi_similarity_loss", "1 2: 1 2; 1: 0", 0, NULL },
    { "info_nce_loss", "2 2: 0 0 0 0; 2 2: 1 0 0 1", 0.69314718055994530942, NULL }, /* no direction */
    { "arcface_loss", "1 2: 1 0; 1: 1; 1 2: 1 0", 0,
      "arcface_loss: 'labels'[0] is 1: it must be below 1, the number of classes in 'class_vectors'" },
    { "arcface_loss", "1 2: 1 0; 1: 0; 1 3: 1 0 0", 0,
      "arcface_loss: 'embeddings' have 2 numbers, 'class_vectors' have 3" },
    { "arcface_loss", "1 2: -1 0; 1: 0; 2 2: 1 0 -1 0", 64 * (2 + 0.23971276930210150), NULL }, /* theta is pi */
    { "center_loss", "1 2: 3 4; 1: 0; 1 2: 0 0", 12.5, NULL },
    { "fid", "2 1: 0 2; 2 1: 1 3", 1, NULL }, /* the means alone differ */
    { "kid", "2 1: 0 1; 2 1: 0 1", 0,
      "kid: 'subset_size' is 1000: it must be at most 2, the number of items of 'real'" },
    { "image_inception_score", "2 2: 0 0 0 0", 0,
      "image_inception_score: 'splits' is 10: it must be at most the number of items, 2" },
    { "lpips", "1 2: 0 0; 1 2: 3 4", 1, NULL }, /* no direction */
    { "lpips", "1 2: 1e200 0; 1 2: 0 1e-200", 2, NULL },
    { "lpips", "1 2: 1 0; 1 3: 0 1 0", 0,
      "lpips: features of both must be (n, channels, ...), not float64 (1, 2) and float64 (1, 3)" },
    { "bert_score", "1 2: 0 0; 1 2: 3 4", 0, NULL }, /* a text without tokens */
    { "bert_score", "1 2: 1 0; 2 2: 0 0 5 0", 1, NULL },
    { "bert_score", "1 2: 1 0; 1 2: -1 0", -1, NULL },
    { "bert_score", "2 1: 1 1; 1 1: 1; 1: 1", 0,
      "bert_score: 'candidate_weights' must have a number for each token of 'candidates': "
      "float64 (1, 1) and float64 (1, 2, 1)" },
    { "bert_score", "1 2: 1 0; 1 3: 1 0 0", 0,
      "bert_score: 'candidates' and 'references' must be as many, with vectors of one length: float64 (1, 2) and "
      "float64 (1, 3)" },
    { "anees", "1 2: 0 0; 2 2: 1 0 0 1; 1 2: 1 1", 0,
      "anees: each vector must have a covariance: float64 (1, 2) and float64 (2, 2)" },
    { "anees", "2: 0 0; 2 2: 1 0 0 1; 2: 1 1", 1, NULL },
    { "anees", "2: 0 0; 2 2: 1 2 2 1; 2: 1 1", 0,
      "anees: 'covariance' must be positive definite: pivot 1 of its Cholesky factor is -3.0" },
    { "anees", "2 1: 0 0; 2 1 1: 1 0; 2 1: 1 1", 0,
      "anees: 'covariance'[1] must be positive definite: pivot 0 of its Cholesky factor is 0.0" },
    { "anees", "2: 0 0; 1 2: 1 2; 2: 1 1", 0, "anees: 'covariance' must be square, not 1 by 2" },
    { "non_credibility_index", "1 2: 0 0; 1 2 2: 1 0 0 1; 1 2: 1 1; 1 2 2: 1 0.5 0 1", 0,
      "non_credibility_index: 'reference_covariance'[0] must be symmetric, and [0, 1] is 0.5, [1, 0] is 0.0: use "
      "(x + x^T) / 2" },
    { "mine_hard_negatives", "2 1: nan 1; 2: 0 1", 0,
      "mine_hard_negatives: 'embeddings'[0, 0] is nan: it must be a number" },
    { "picp", "2: 0 nan; 2: 1 1; 2: 0.5 0.5", NAN, NULL },
    { "picp", "2: 0 0; 2: 1 nan; 2: 0.5 0.5", NAN, NULL },
    { "picp", "2: 0 0; 2: 1 1; 2: 0.5 nan", NAN, NULL },
    { "memorization_rate", "3 1: 0 nan 5; 2 1: 0 9", NAN, NULL },
    { "manifold_precision", "7 1: 0 1 2 3 nan 5 6; 7 1: 0 1 2 3 4 5 6", NAN, NULL },
    { "manifold_recall", "7 1: 0 1 2 3 4 5 6; 7 1: 0 1 2 3 nan 5 6", NAN, NULL },
    { "manifold_recall", "7 1: 0 1 2 3 nan 5 6; 7 1: 0 1 2 3 4 5 6", NAN, NULL },
    { "non_credibility_index", "1: 0; 1 1: 4; 1: 0; 1 1: 2", 0, NULL },
    { "predictive_entropy", "1 1 2: 0 1", 0, NULL },
    { "predictive_entropy", "1 1 2: 0.5 1", 0,
      "predictive_entropy: the sum of 'probabilities'[0, 0] is 1.5, not 1: divide by it" },
};

static cbx_array *read_operand(cbx_ctx *ctx, const char **text, const cbx_metric_operand *o)
{
    const bool whole = o->kind == CBX_OPERAND_INDICES || o->kind == CBX_OPERAND_TOKENS ||
                       o->kind == CBX_OPERAND_TEXTS || o->kind == CBX_OPERAND_LABELS;
    size_t shape[CBX_MAX_RANK], n = 0;
    double v[64];
    char *end;
    int ndim = 0;

    for (; **text == ' '; (*text)++) continue;
    for (; **text != ':'; *text = end + (*end == ' ')) shape[ndim++] = (size_t)strtoul(*text, &end, 10);
    for ((*text)++; **text && **text != ';'; *text = end) v[n++] = strtod(*text, &end);
    if (**text) (*text)++;
    return array_of(ctx, ndim, shape, v, whole);
}

/* As long as they are equal to rounding; 0 has no sign. */
static void check_edge(const edge *e, double v, const char *how)
{
    const double bound = 1e-12 * fmax(1, fabs(e->result));

    if (v == 0 && e->result == 0 && signbit(v)) fail_msg("%s of %s %s is -0", e->metric, e->operands, how);
    if (!(fabs(v - e->result) <= bound) && !(isnan(v) && isnan(e->result)) && v != e->result)
        fail_msg("%s of %s %s is %.17g, not %.17g", e->metric, e->operands, how, v, e->result);
}

static void called(cbx_ctx *ctx, const edge *e, const cbx_metric_function *m, const drawn *d)
{
    double v = 0;
    const cbx_status st = cbx_metric_value(ctx, m->name, d->nin, d->in, NULL, &v, &err);

    if (e->refusal) {
        CHECK(st, e->refusal);
        CHECK_STR(err.message, e->refusal, e->operands);
    } else {
        CHECK_OK(st, &err, e->metric);
        check_edge(e, v, "called");
    }
}

/* Whether the operands have items, of which the metric is a mean or a share: as often as wanted. */
static bool repeats(const cbx_metric_function *m, const drawn *d)
{
    bool items = has_items(m) && (m->items || m->flags & CBX_METRIC_WEIGHTED) && strcmp(m->name, "coverage") != 0;

    for (size_t i = 0; i < d->nin; i++) {
        const cbx_operand_items of = cbx_metric_operand_items(m, i);
        items &= (of == CBX_ITEMS_FIRST || of == CBX_ITEMS_SECOND) && !cbx__operand_is_single(m, i, d->in[i]);
    }
    return items;
}

/* Operands of many times the items: repeated calls of a thousand elements and more are compiled. */
static void called_of_many(cbx_ctx *ctx, const edge *e, const cbx_metric_function *m, const drawn *d)
{
    enum { MANY = 4096 };
    const size_t items = cbx_array_dim(d->in[0], 0), n = MANY / items * items;
    double places[MANY];
    drawn many;

    for (size_t i = 0; i < n; i++) places[i] = (double)(i % items);
    pick(ctx, m, d, n, places, &many);
    for (size_t k = 0; k < 3; k++) called(ctx, e, m, &many);
    drawn_free(&many);
}

/* The traced function, compiled, which is so of any size. */
static void compiled(cbx_ctx *ctx, const edge *e, const cbx_metric_function *m, const drawn *d)
{
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    const cbx_metric_options o = { .parameters = parameters };
    cbx_fn *f = NULL, *jitted = NULL;
    cbx_array *r = NULL;

    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) parameters[i] = NAN;
    give_classes(ctx, m, d->nin, d->in, parameters);
    CHECK_OK(cbx_metric_fn(ctx, m, d->nin, &o, &f, &err), &err, e->metric);
    CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, e->metric);
    CHECK_OK(cbx_fn_run(ctx, jitted, d->nin, d->in, 1, &r, &err), &err, e->metric);
    double *v = read_all(r);
    check_edge(e, *v, "compiled");
    free(v);
    cbx_array_free(r);
    cbx_fn_free(jitted);
    cbx_fn_free(f);
}

static void every_edge(const cbx_backend *backend)
{
    cbx_ctx *ctx = cbx_test_context();
    size_t many = 0, traced = 0;

    CHECK_OK(cbx_ctx_set_backend(ctx, backend, &err), &err, "the backend");
    for (size_t i = 0; i < CBX_LEN(edges); i++) {
        const edge *e = &edges[i];
        const cbx_metric_function *m;
        const char *text = e->operands;
        drawn d = { 0 };
        CHECK_OK(cbx_metric_find(ctx, e->metric, &m, &err), &err, e->metric);
        for (; *text; d.nin++) d.in[d.nin] = read_operand(ctx, &text, &m->operands[d.nin]);
        called(ctx, e, m, &d);
        if (!e->refusal && repeats(m, &d)) called_of_many(ctx, e, m, &d), many++;
        if (!e->refusal && backend->compile) compiled(ctx, e, m, &d), traced++;
        drawn_free(&d);
    }
    CHECK_GT(many, 25, "edges of many items");
    if (backend->compile) CHECK_GT(traced, 60, "compiled edges");
    cbx_ctx_free(ctx);
}

TEST(every_edge_by_the_reference) { every_edge(cbx_backend_reference()); }

TEST(every_edge_compiled) { every_edge(cbx_backend_jit()); }

typedef struct constant {
    const char *metric;
    double result;
    bool varied; /* the first operand varies */
} constant;

/* At once, compiled, and of batches one after the other. */
static void of_constant(cbx_ctx *ctx, const constant *k, size_t n, const double *x, const double *y)
{
    static const double first[CBX_METRIC_MAX_PARAMETERS] = { 1 }; /* one lag */
    const cbx_metric_options o = { .parameters = first };
    const cbx_metric_function *m;
    cbx_metric_state *s = NULL;
    cbx_array *in[2] = { NULL }, *r[2] = { NULL };
    cbx_fn *f = NULL, *compiled = NULL;
    double v[3];

    CHECK_OK(cbx_metric_find(ctx, k->metric, &m, &err), &err, k->metric);
    const size_t nin = m->operands[1].name ? 2 : 1, shape[] = { 1, n, 1 };
    const bool series = !m->parts;
    in[0] = array_of(ctx, series ? 3 : 1, series ? shape : &n, x, false);
    if (nin > 1) in[1] = array_of(ctx, 1, &n, y, false);
    v[0] = value_of(ctx, m, nin, in, &o);
    CHECK_OK(cbx_metric_fn(ctx, m, nin, &o, &f, &err), &err, k->metric);
    CHECK_OK(cbx_jit(ctx, f, &compiled, &err), &err, k->metric);
    CHECK_OK(cbx_fn_run(ctx, compiled, nin, in, 1, &r[0], &err), &err, k->metric);
    v[1] = v[2] = *(const double *)cbx_array_data(r[0]);
    if (m->parts) {
        CHECK_OK(cbx_metric_state_create(ctx, m, &o, &s, &err), &err, k->metric);
        for (int i = 0; i < 9; i++) CHECK_OK(cbx_metric_state_update(ctx, s, nin, in, NULL, &err), &err, k->metric);
        CHECK_OK(cbx_metric_state_compute(ctx, s, &r[1], &err), &err, k->metric);
        v[2] = *(const double *)cbx_array_data(r[1]);
    }
    for (size_t i = 0; i < 3; i++)
        if (v[i] != k->result && !(isnan(v[i]) && isnan(k->result)))
            fail_msg("%s of %zu times %g is %.17g, way %zu", k->metric, n, y[0], v[i], i);
    for (size_t i = 0; i < 2; i++) cbx_array_free(in[i]), cbx_array_free(r[i]);
    cbx_metric_state_free(s);
    cbx_fn_free(compiled);
    cbx_fn_free(f);
}

/* Sums of equal numbers are rounded; a constant is one all the same, as an exact mean shows. */
TEST(constants_are_constant)
{
    static const constant rows[] = {
        { "pearson_correlation", NAN, true },
        { "skewness", 0, false },
        { "r_squared", 0, true },
        { "explained_variance", 0, true },
        { "explained_variance", 1, false },
        { "r_squared_adjusted", -INFINITY, true },
        { "autocorrelation", 0, false },
        { "r_squared", 1, false },
    };
    static const size_t counts[] = { 3, 7, 100, 1000, 4099 };
    static const double values[] = { 0.1, -0.7, 1e100 / 3, 1.1e-100, 0 };
    enum { N = 4099 };
    static double x[N], y[N];
    cbx_rng rng = cbx_rng_make(14, 0);
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(rows); i++)
        for (size_t j = 0; j < CBX_LEN(counts); j++)
            for (size_t l = 0; l < CBX_LEN(values); l++) {
                for (size_t k = 0; k < N; k++) y[k] = values[l];
                for (size_t k = 0; k < N; k++) x[k] = rows[i].varied ? cbx_rng_normal(&rng) * (y[k] ? y[k] : 1) : y[k];
                of_constant(ctx, &rows[i], counts[j], x, y);
            }
    cbx_ctx_free(ctx);
}

/* A mask is boolean or 0 and 1, weights are not negative, both are for the items; errors name
 * the place. */
TEST(masks_and_weights)
{
    static const struct {
        const char *metric;
        double v[3];
        size_t n;
        bool mask;
        const char *refusal; /* NULL: the call succeeds */
    } cases[] = {
        { "mae", { 1, 0, 1 }, 3, true, NULL },
        { "mae", { 1, 2, 1 }, 3, true, "mae: 'mask'[1] is 2.0: it must be 0 or 1" },
        { "mae", { 1, 1, 0.5 }, 3, true, "mae: 'mask'[2] is 0.5: it must be 0 or 1" },
        { "mae", { -1, 1, 1 }, 3, true, "mae: 'mask'[0] is -1.0: it must be 0 or 1" },
        { "mae", { 1, NAN, 1 }, 3, true, "mae: 'mask'[1] is nan: it must be 0 or 1" },
        { "earth_movers_distance_1d",
          { 1, 3, 1 },
          3,
          true,
          "earth_movers_distance_1d: 'mask'[1] is 3.0: it must be 0 or 1" },
        { "mae", { 1, 1 }, 2, true, "mae: 'mask' is float64 (2,): it must be for items of the shape (3,)" },
        { "mae", { 1, 1 }, 2, false, "mae: 'weights' is float64 (2,): it must be for items of the shape (3,)" },
        { "mae", { 1, 0, 0.5 }, 3, false, NULL },
        { "mae", { 1, -1, 1 }, 3, false, "mae: 'weights'[1] is -1.0: it must be at least 0" },
        { "mae", { 1, 1, NAN }, 3, false, "mae: 'weights'[2] is nan: it must be at least 0" },
    };
    const double v[] = { 1, 2, 4 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_array *in[] = { array_of(ctx, 1, &(size_t){ 3 }, v, false), array_of(ctx, 1, &(size_t){ 3 }, v, false) };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_array *x = array_of(ctx, 1, &cases[i].n, cases[i].v, false);
        const cbx_metric_options o = { .mask = cases[i].mask ? x : NULL, .weights = cases[i].mask ? NULL : x };
        double result;
        const cbx_status st = cbx_metric_value(ctx, cases[i].metric, 2, in, &o, &result, &err);
        if (cases[i].refusal) CHECK_STR(st ? err.message : "accepted", cases[i].refusal, cases[i].metric);
        if (!cases[i].refusal) CHECK_OK(st, &err, cases[i].metric);
        cbx_array_free(x);
    }
    double result;
    const cbx_metric_options beyond = { .axes = CBX_AXIS(1) };
    CHECK_STATUS(cbx_metric_value(ctx, "mae", 2, in, &beyond, &result, &err), CBX_ESHAPE, "axis 1");
    CHECK_STR(err.message, "mae: 'axis' 1 is outside of the items' axes, 1 in number", "its sentence");
    cbx_array *text = array_of(ctx, 1, &(size_t){ 3 }, v, true); /* one item */
    const cbx_metric_options of_tokens = { .weights = in[0] };
    CHECK_STATUS(cbx_metric_value(ctx, "distinct_n", 1, &text, &of_tokens, &result, &err), CBX_ESHAPE, "a text");
    CHECK_STR(err.message, "distinct_n: 'weights' is float64 (3,): it must be for items of the shape ()",
              "its sentence");
    cbx_array_free(text);
    for (size_t k = 0; k < 2; k++) cbx_array_free(in[k]);
    cbx_ctx_free(ctx);
}

/* Labels that are far apart: the metrics of the same labels from 0 on, with weights and without, at
 * once and in shards. */
TEST(many_classes)
{
    static const char *const names[] = { "precision",         "recall",      "f1_score",
                                         "fbeta_score",       "iou",         "dice_coefficient",
                                         "balanced_accuracy", "cohen_kappa", "matthews_corrcoef",
                                         "accuracy" };
    enum { N = 60, CLASSES = 7, FAR = 3001 };
    const size_t n = N;
    double near[2][N], far[2][N], w[N], v[3], out[2];
    cbx_rng rng = cbx_rng_make(5, 5);
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < N; i++) {
        near[0][i] = (double)cbx_rng_below(&rng, CLASSES);
        near[1][i] = cbx_rng_below(&rng, 2) ? near[0][i] : (double)cbx_rng_below(&rng, CLASSES);
        for (size_t k = 0; k < 2; k++) far[k][i] = FAR * near[k][i];
        w[i] = cbx_rng_uniform(&rng);
    }
    cbx_array *a[] = { array_of(ctx, 1, &n, near[0], true), array_of(ctx, 1, &n, near[1], true) };
    cbx_array *b[] = { array_of(ctx, 1, &n, far[0], true), array_of(ctx, 1, &n, far[1], true) };
    cbx_array *weights = array_of(ctx, 1, &n, w, false);
    for (size_t i = 0; i < CBX_LEN(names); i++)
        for (double average = 1; average < 4; average++) {
            const cbx_metric_function *m;
            cbx_metric_state *s = NULL;
            cbx_array *r = NULL;
            double parameters[CBX_METRIC_MAX_PARAMETERS];
            for (size_t k = 0; k < CBX_METRIC_MAX_PARAMETERS; k++) parameters[k] = NAN;
            CHECK_OK(cbx_metric_find(ctx, names[i], &m, &err), &err, names[i]);
            if (m->parameters[0].name && !strcmp(m->parameters[0].name, "average")) parameters[0] = average;
            for (int k = 0; k < 2; k++) {
                const cbx_metric_options o = { .parameters = parameters, .weights = k ? weights : NULL };
                CHECK_OK(cbx_metric_value(ctx, names[i], 2, a, &o, &out[0], &err), &err, names[i]);
                CHECK_OK(cbx_metric_value(ctx, names[i], 2, b, &o, &out[1], &err), &err, names[i]);
                if (!(fabs(out[0] - out[1]) <= 1e-13))
                    fail_msg("%s of many classes is %.17g, not %.17g", names[i], out[1], out[0]);
                v[k] = out[0];
            }
            CHECK_OK(cbx_metric_state_create(ctx, m, &(cbx_metric_options){ .parameters = parameters }, &s, &err), &err,
                     names[i]);
            CHECK_OK(cbx_metric_state_update(ctx, s, 2, b, NULL, &err), &err, names[i]);
            CHECK_OK(cbx_metric_state_update(ctx, s, 2, b, NULL, &err), &err, names[i]);
            CHECK_OK(cbx_metric_state_compute(ctx, s, &r, &err), &err, names[i]);
            if (!(fabs(*(const double *)cbx_array_data(r) - v[0]) <= 1e-13)) fail_msg("%s of two batches", names[i]);
            cbx_array_free(r);
            cbx_metric_state_free(s);
        }
    CHECK_STATUS(cbx_metric_value(ctx, "confusion_matrix", 2, b, NULL, v, &err), CBX_EINVAL, "the table itself");
    for (size_t k = 0; k < 2; k++) {
        cbx_array_free(a[k]);
        cbx_array_free(b[k]);
    }
    cbx_array_free(weights);
    cbx_ctx_free(ctx);
}

/* Updates that do not converge: an error with data, NaN in a trace. */
TEST(sinkhorn_must_end)
{
    const double parameters[] = { 0.1, 3, 1e-4 }, x[] = { 0, 1, 4 }, y[] = { 2, 3, 9 };
    const cbx_metric_options o = { .parameters = parameters };
    const cbx_metric_function *m;
    cbx_fn *f = NULL, *compiled = NULL;
    cbx_array *in[2], *r = NULL;
    cbx_ctx *ctx = cbx_test_context();
    double v;

    in[0] = array_of(ctx, 2, (const size_t[]){ 3, 1 }, x, false);
    in[1] = array_of(ctx, 2, (const size_t[]){ 3, 1 }, y, false);
    CHECK_STATUS(cbx_metric_value(ctx, "sinkhorn_divergence", 2, in, &o, &v, &err), CBX_EDOM, "three updates");
    CHECK_STR(err.message,
              "sinkhorn_divergence: the error of the marginals is inf after 3 updates, above 'threshold' 0.0001: raise "
              "'max_iter' or 'regularization'",
              "its sentence");
    CHECK_OK(cbx_metric_find(ctx, "sinkhorn_divergence", &m, &err), &err, "the row");
    CHECK_OK(cbx_metric_fn(ctx, m, 2, &o, &f, &err), &err, "as a function");
    CHECK_OK(cbx_jit(ctx, f, &compiled, &err), &err, "compiled");
    CHECK_OK(cbx_fn_run(ctx, compiled, 2, in, 1, &r, &err), &err, "a call");
    CHECK(isnan(*(const double *)cbx_array_data(r)), "NaN in a trace");
    cbx_array_free(r);
    cbx_fn_free(compiled);
    cbx_fn_free(f);
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

/* ---- code in C: the bits of the steps that a trace records ---- */

/* `rows` items of `width` numbers: any, or points of the hyperboloid. */
static cbx_array *random_rows(cbx_ctx *ctx, cbx_rng *rng, int ndim, const size_t *shape, bool curved)
{
    const size_t width = shape[ndim - 1], n = shape[0] * (ndim > 2 ? shape[1] : 1) * width;
    double *v = malloc(n * sizeof *v);
    cbx_array *a;

    CHECK(v, "memory");
    for (size_t i = 0; i < n; i++) v[i] = 3 * cbx_rng_normal(rng);
    for (size_t r = 0; curved && r < n; r += width) {
        double square = 1;
        for (size_t i = 1; i < width; i++) square += v[r + i] * v[r + i];
        v[r] = sqrt(square);
    }
    a = array_of(ctx, ndim, shape, v, false);
    free(v);
    return a;
}

/* Of each item, where a mean would hide a rounding. */
static void same_bits(cbx_ctx *ctx, const char *name, size_t width, size_t nin, cbx_array *const *in)
{
    cbx_metric_options o = { 0 };
    const cbx_metric_function *m;
    cbx_fn *f = NULL, *compiled = NULL;
    cbx_array *r = NULL;
    size_t n;

    CHECK_OK(cbx_metric_find(ctx, name, &m, &err), &err, name);
    if (m->items) o.reduction = CBX_REDUCTION_NONE;
    CHECK_OK(cbx_metric_fn(ctx, m, nin, &o, &f, &err), &err, name);
    CHECK_OK(cbx_jit(ctx, f, &compiled, &err), &err, name);
    CHECK_OK(cbx_fn_run(ctx, compiled, nin, in, 1, &r, &err), &err, name);
    double *x = values_of(ctx, m, nin, in, &o, &n), *y = read_all(r);
    CHECK_INT(cbx_array_count(r), n, name);
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) fail_msg("%s of rows of %zu: [%zu] is %a, by steps %a", name, width, i, x[i], y[i]);
    free(x);
    free(y);
    cbx_array_free(r);
    cbx_fn_free(compiled);
    cbx_fn_free(f);
}

/* Squares over their sums. */
static cbx_array *shares_of(cbx_ctx *ctx, cbx_array *x)
{
    const size_t width = cbx_array_dim(x, 1);
    double *v = read_all(x);
    cbx_array *out;

    for (size_t row = 0; row < cbx_array_dim(x, 0); row++) {
        double sum = 0;
        for (size_t k = row * width; k < (row + 1) * width; k++) sum += v[k] = v[k] * v[k];
        for (size_t k = row * width; k < (row + 1) * width; k++) v[k] /= sum;
    }
    out = array_of(ctx, 2, (size_t[]){ cbx_array_dim(x, 0), width }, v, false);
    free(v);
    return out;
}

TEST(code_in_c_has_the_bits_of_the_steps)
{
    enum { ROWS = 80 }; /* more than are compared at once, and whole vectors */
    static const size_t widths[] = { 2, 7, 8, 21, 128, 129, 300 };
    cbx_rng rng = cbx_rng_make(12, 0);
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(widths); i++) {
        const size_t w = widths[i], n = ROWS, rows[] = { ROWS, w }, conformations[] = { ROWS, w, 3 };
        double labels[ROWS], limits[ROWS];
        for (size_t k = 0; k < ROWS; k++) labels[k] = (double)cbx_rng_below(&rng, w);
        for (size_t k = 0; k < ROWS; k++) limits[k] = cbx_rng_normal(&rng);
        cbx_array *x = random_rows(ctx, &rng, 2, rows, false), *y = random_rows(ctx, &rng, 2, rows, false);
        cbx_array *a = random_rows(ctx, &rng, 2, rows, true), *b = random_rows(ctx, &rng, 2, rows, true);
        cbx_array *all = random_rows(ctx, &rng, 3, conformations, false), *at = array_of(ctx, 1, &n, labels, true);
        cbx_array *limit = array_of(ctx, 1, &n, limits, false), *shares = shares_of(ctx, x);
        same_bits(ctx, "cosine_distance", w, 2, (cbx_array *[]){ x, y });
        same_bits(ctx, "lorentz_distance", w, 2, (cbx_array *[]){ a, b });
        same_bits(ctx, "softmax_cross_entropy", w, 2, (cbx_array *[]){ x, at });
        same_bits(ctx, "ranked_probability_score", w, 2, (cbx_array *[]){ shares, at });
        same_bits(ctx, "rank_histogram", w, 2, (cbx_array *[]){ x, limit });
        same_bits(ctx, "pairwise_rmsd", w, 1, &all);
        same_bits(ctx, "conformational_diversity", w, 1, &all);
        cbx_array *const arrays[] = { x, y, a, b, all, at, limit, shares };
        for (size_t k = 0; k < CBX_LEN(arrays); k++) cbx_array_free(arrays[k]);
    }
    cbx_ctx_free(ctx);
}

/* log(1) of whole vectors of rows. */
TEST(logits_that_are_sure_cost_nothing)
{
    enum { ROWS = 256, COUNT = 2 * ROWS };
    cbx_ctx *ctx = cbx_test_context();

    for (size_t n = 1; n <= ROWS; n *= 2) {
        double logits[COUNT] = { 0 }, labels[ROWS] = { 0 }, v;
        for (size_t i = 0; i < n; i++) logits[2 * i] = 40;
        cbx_array *in[] = { array_of(ctx, 2, (const size_t[]){ n, 2 }, logits, false),
                            array_of(ctx, 1, &n, labels, true) };
        CHECK_OK(cbx_metric_value(ctx, "softmax_cross_entropy", 2, in, NULL, &v, &err), &err, "a loss");
        CHECK(v == 0, "of logits 40 apart");
        cbx_array_free(in[0]);
        cbx_array_free(in[1]);
    }
    cbx_ctx_free(ctx);
}

/* A derivative of silhouettes in blocks has the distances of one; it is that of a change of
 * the points. */
TEST(silhouettes_go_in_blocks)
{
    enum { POINTS = 2500, DIMENSIONS = 2, CLUSTERS = 3, COUNT = POINTS * DIMENSIONS };
    const size_t shape[] = { POINTS, DIMENSIONS }, n = POINTS;
    const double parameters[CBX_METRIC_MAX_PARAMETERS] = { CLUSTERS }, step = 1e-6;
    const cbx_metric_options o = { .parameters = parameters };
    cbx_rng rng = cbx_rng_make(13, 0);
    double labels[POINTS], v[COUNT], along[COUNT], sides[2], slope = 0;
    const cbx_metric_function *m;
    cbx_fn *f = NULL, *grad = NULL, *compiled = NULL;
    cbx_array *out[2], *x, *at;
    cbx_ctx *ctx = cbx_test_context();
    size_t count;

    CHECK_OK(cbx_metric_find(ctx, "silhouette_score", &m, &err), &err, "metric");
    for (size_t i = 0; i < POINTS; i++) labels[i] = (double)(i % CLUSTERS);
    for (size_t i = 0; i < COUNT; i++) v[i] = cbx_rng_normal(&rng) + labels[i / DIMENSIONS];
    for (size_t i = 0; i < COUNT; i++) along[i] = cbx_rng_normal(&rng);
    x = array_of(ctx, 2, shape, v, false);
    at = array_of(ctx, 1, &n, labels, true);
    CHECK_OK(cbx_metric_fn(ctx, m, 2, &o, &f, &err), &err, "function");
    CHECK_OK(cbx_value_and_grad(ctx, f, 1, NULL, &grad, &err), &err, "derivative");
    CHECK_OK(cbx_jit(ctx, grad, &compiled, &err), &err, "compiled");
    CHECK_OK(cbx_fn_run(ctx, compiled, 2, (cbx_array *[]){ x, at }, 2, out, &err), &err, "run");
    double *value = values_of(ctx, m, 2, (cbx_array *[]){ x, at }, &o, &count), *gradient = read_all(out[1]);
    CHECK_LE(fabs(*(const double *)cbx_array_data(out[0]) - *value), 1e-12, "by blocks and by tiles");
    for (size_t i = 0; i < COUNT; i++) slope += gradient[i] * along[i];
    for (int side = 0; side < 2; side++) {
        double *moved;
        for (size_t i = 0; i < COUNT; i++) v[i] += (side ? -2 : 1) * step * along[i];
        cbx_array *there = array_of(ctx, 2, shape, v, false);
        moved = values_of(ctx, m, 2, (cbx_array *[]){ there, at }, &o, &count);
        sides[side] = *moved;
        free(moved);
        cbx_array_free(there);
    }
    CHECK_LE(fabs(slope - (sides[0] - sides[1]) / (2 * step)), 1e-6, "a directional derivative");
    free(value);
    free(gradient);
    cbx_array *const arrays[] = { x, at, out[0], out[1] };
    for (size_t k = 0; k < CBX_LEN(arrays); k++) cbx_array_free(arrays[k]);
    cbx_fn_free(compiled);
    cbx_fn_free(grad);
    cbx_fn_free(f);
    cbx_ctx_free(ctx);
}

/* Metrics with code in C, which takes memory of its own; the operands are another context's. */
typedef struct drawn_call {
    const cbx_metric_function *metric;
    drawn d;
} drawn_call;

static cbx_status call_it(cbx_ctx *ctx, void *user)
{
    /* a strong regularization: a few updates, and not thousands of allocations, one of which fails
     * at a time */
    static const double soon[CBX_METRIC_MAX_PARAMETERS] = { 1e6, NAN, 0.5, NAN, NAN, NAN };
    const drawn_call *c = user;
    const bool updates = strcmp(c->metric->name, "sinkhorn_divergence") == 0;
    cbx_metric_options o = { .parameters = updates ? soon : NULL };
    cbx_scope scope;
    cbx_err e = CBX_ERR_INIT;

    if (c->metric->function) set_needs(c->metric, &o);
    cbx_scope_open(ctx, &scope);
    cbx_metric_apply(ctx, c->metric, c->d.nin, c->d.in, &o);
    return cbx_scope_close(&scope, &e);
}

TEST(memory_may_end)
{
    const unsigned in_c = CBX_METRIC_DATA_SHAPED | CBX_METRIC_EAGER;
    cbx_ctx *ctx = cbx_test_context();
    const cbx_metric_function *m;

    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(11, i);
        drawn_call c = { .metric = m };
        if (!(m->flags & in_c) || (m->function && !(m->flags & CBX_METRIC_FEATURES))) continue;
        draw_operands(ctx, &rng, m, 40, &c.d);
        cbx_test_fail_each(call_it, &c, m->name);
        drawn_free(&c.d);
    }
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 300)
