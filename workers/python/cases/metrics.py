"""Foreign baselines of metrics: what scikit-learn, SciPy, packages of single domains, torchmetrics and the Python package calibrax have of them.

Each table is a function that imports its package and returns, by the metric's name, a function of the operands in their order: mostly one
call.  Where a package has the steps alone, the line is what its users write.  Operands that a metric does not have are empty arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

from protocol import require

from cases import Baseline, Case

Table = dict[str, Callable[..., Any]]
BINS = 10


def _reversed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a function that takes the targets first."""
    return lambda p, t: function(t, p)


def sklearn_table(point: dict[str, Any]) -> Table:
    import numpy as np
    from sklearn import calibration
    from sklearn import metrics as m
    from sklearn.feature_selection import r_regression
    from sklearn.metrics import pairwise
    from sklearn.neighbors import NearestNeighbors

    def nearest(x: Any, y: Any, k: int) -> Any:
        return NearestNeighbors(n_neighbors=k).fit(x).kneighbors(y)[0]

    def covers(reference: Any, x: Any, k: int) -> Any:
        radii = nearest(reference, reference, k + 1)[:, k]
        return m.pairwise_distances(x, reference) <= radii * (1 + 1e-12)

    def unbiased(k: Any) -> Any:
        return (k.sum() - np.trace(k)) / (len(k) * (len(k) - 1))

    def scaled(x: Any, y: Any) -> Any:
        low, high = np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))
        return (x - low) / (high - low), (y - low) / (high - low)

    def closest_record(x: Any, y: Any) -> Any:
        a, b = scaled(x, y)
        return (nearest(a, b, 1) ** 2).mean()

    def diagram(p: Any, t: Any) -> Any:
        share, forecast = calibration.calibration_curve(t, p, n_bins=BINS)
        return np.stack([forecast, share, np.histogram(p, BINS, (0, 1))[0]], axis=1)

    def affinities(p: Any, t: Any) -> Any:
        return np.array([m.mean_squared_error(t, p), m.mean_absolute_error(t, p), m.r2_score(t, p), r_regression(p[:, None], t)[0]])

    def rbf(x: Any, y: Any) -> Any:
        return pairwise.rbf_kernel(x, y, gamma=0.5)

    targets_first = dict(
        mse="mean_squared_error", mae="mean_absolute_error", rmse="root_mean_squared_error", r_squared="r2_score",
        mape="mean_absolute_percentage_error", explained_variance="explained_variance_score", max_error="max_error",
        brier_score="brier_score_loss", accuracy="accuracy_score", precision="precision_score", recall="recall_score", f1_score="f1_score",
        roc_auc="roc_auc_score", average_precision="average_precision_score", log_loss="log_loss", matthews_corrcoef="matthews_corrcoef",
        cohen_kappa="cohen_kappa_score", balanced_accuracy="balanced_accuracy_score", sensitivity="recall_score",
        confusion_matrix="confusion_matrix", adjusted_rand_index="adjusted_rand_score",
        normalized_mutual_information_clustering="normalized_mutual_info_score", adjusted_mutual_information="adjusted_mutual_info_score",
        v_measure="v_measure_score", mean_average_precision="average_precision_score", iou="jaccard_score", dice_coefficient="f1_score",
        pixel_accuracy="accuracy_score", streaming_roc_auc="roc_auc_score", streaming_average_precision="average_precision_score",
    )  # fmt: skip
    return {
        **{metric: _reversed(getattr(m, name)) for metric, name in targets_first.items() if hasattr(m, name)},
        "quantile_loss": lambda p, t: m.mean_pinball_loss(t, p, alpha=0.5),
        "fbeta_score": lambda p, t: m.fbeta_score(t, p, beta=1.0),
        "silhouette_score": m.silhouette_score,
        "calinski_harabasz_score": m.calinski_harabasz_score,
        "davies_bouldin_score": m.davies_bouldin_score,
        "cosine_distance": lambda x, y: pairwise.paired_cosine_distances(x, y).mean(),
        "euclidean_distance": lambda x, y: pairwise.paired_euclidean_distances(x, y).mean(),
        "manhattan_distance": lambda x, y: pairwise.paired_manhattan_distances(x, y).mean(),
        "mmd": lambda x, y: np.sqrt(rbf(x, x).mean() + rbf(y, y).mean() - 2 * rbf(x, y).mean()),
        "mmd_squared_unbiased": lambda x, y: unbiased(rbf(x, x)) + unbiased(rbf(y, y)) - 2 * rbf(x, y).mean(),
        "manifold_precision": lambda x, y: covers(x, y, 3).any(axis=1).mean(),
        "manifold_recall": lambda x, y: covers(y, x, 3).any(axis=1).mean(),
        "density_weighted_precision": lambda x, y: covers(x, y, 5).sum(axis=1).mean() / 5,
        "density_weighted_recall": lambda x, y: covers(y, x, 5).sum(axis=1).mean() / 5,
        "manifold_radii": lambda x: nearest(x, x, 4)[:, 3],
        "distance_to_closest_record": closest_record,
        "chamfer_distance": lambda x, y: (nearest(x, y, 1).mean() + nearest(y, x, 1).mean()) / 2,
        "ndcg": lambda s, t: m.ndcg_score([2.0**t - 1], [s]),
        "ndcg_at_k": lambda s, t: m.ndcg_score([2.0**t - 1], [s], k=10),
        "reliability_diagram_bins": diagram,
        "binding_affinity_metrics": affinities,
    }


def scipy_table(point: dict[str, Any]) -> Table:
    import numpy as np
    from scipy import fft, linalg, sparse, special, stats
    from scipy.spatial import KDTree, distance
    from scipy.spatial.transform import Rotation

    def nearest(x: Any, y: Any) -> Any:
        return KDTree(x).query(y)[0]

    def closest_record(x: Any, y: Any) -> Any:
        low, high = np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))
        return (nearest((x - low) / (high - low), (y - low) / (high - low)) ** 2).mean()

    def frechet(x: Any, y: Any) -> Any:
        return frechet_of(x.mean(axis=0), np.cov(x.T), y.mean(axis=0), np.cov(y.T))

    def frechet_of(m: Any, a: Any, k: Any, b: Any) -> Any:
        gaps = np.sum((m - k) ** 2, axis=-1)
        return np.mean(gaps + np.trace(a + b - 2 * linalg.sqrtm(a @ b).real, axis1=-2, axis2=-1))

    def kabsch(x: Any, y: Any) -> Any:
        a, b = x - x.mean(axis=0), y - y.mean(axis=0)
        return Rotation.align_vectors(a, b)[1] / np.sqrt(len(x))

    def deviations(x: Any) -> Any:
        return distance.pdist(x.reshape(len(x), -1)) / np.sqrt(x.shape[1])

    def correlogram(x: Any) -> Any:
        d = x - x.mean(axis=1, keepdims=True)
        n = d.shape[1]
        f = fft.rfft(d, fft.next_fast_len(2 * n, True), axis=1)
        sums = fft.irfft((f.real**2 + f.imag**2).sum(axis=(0, 2)), fft.next_fast_len(2 * n, True))[:n]
        means = sums / np.arange(n, 0, -1)
        return means / means[0]

    def vendi(k: Any) -> Any:
        return np.exp(stats.entropy(linalg.eigvalsh(k / len(k))))

    return {
        "huber_loss": lambda p, t: special.huber(1.0, p - t).mean(),
        "chebyshev_distance": distance.chebyshev,
        "minkowski_distance": distance.minkowski,
        "hamming_distance": distance.hamming,
        "jaccard_distance": distance.jaccard,
        "kl_divergence": stats.entropy,
        "reverse_kl_divergence": lambda p, q: stats.entropy(q, p),
        "js_divergence": lambda p, q: distance.jensenshannon(p, q) ** 2,
        "total_variation": lambda p, q: distance.cityblock(p, q) / 2,
        "hellinger_distance": lambda p, q: distance.euclidean(np.sqrt(p), np.sqrt(q)) / np.sqrt(2),
        "chi_squared_divergence": lambda p, q: stats.chisquare(p, q).statistic,
        "wasserstein_1d": stats.wasserstein_distance,
        "kolmogorov_smirnov_distance": lambda x, y: stats.ks_2samp(x, y, method="asymp").statistic,
        "frechet_feature_distance": frechet,
        "frechet_distance": frechet_of,
        "manifold_radii": lambda x: KDTree(x).query(x, k=[4])[0][:, 0],
        "distance_to_closest_record": closest_record,
        "chamfer_distance": lambda x, y: (nearest(x, y).mean() + nearest(y, x).mean()) / 2,
        "directed_hausdorff": lambda x, y: distance.directed_hausdorff(x, y)[0],
        "hausdorff_distance": lambda x, y: max(distance.directed_hausdorff(x, y)[0], distance.directed_hausdorff(y, x)[0]),
        "earth_movers_distance_1d": stats.wasserstein_distance,
        "kabsch_rmsd": kabsch,
        "shortest_path_distance": lambda a: sparse.csgraph.shortest_path(sparse.csr_array(a), method="D", unweighted=True),
        "vendi_score": vendi,
        "entropy": stats.entropy,
        "mutual_information": lambda j: stats.entropy(j.sum(axis=0)) + stats.entropy(j.sum(axis=1)) - stats.entropy(j.ravel()),
        "conditional_entropy": lambda j: stats.entropy(j.ravel()) - stats.entropy(j.sum(axis=1)),
        "spd_affine_invariant_distance": lambda a, b: linalg.norm(np.log(linalg.eigvalsh(b, a))),
        "spd_log_euclidean_distance": lambda a, b: linalg.norm(linalg.logm(a) - linalg.logm(b)),
        "grassmann_distance": lambda u, v: linalg.norm(linalg.subspace_angles(u, v)),
        "pearson_correlation": lambda x, y: stats.pearsonr(x, y).statistic,
        "spearman_rank_correlation": lambda x, y: stats.spearmanr(x, y).statistic,
        "kendall_tau": lambda x, y: stats.kendalltau(x, y).statistic,
        "skewness": stats.skew,
        "gaussian_nll": lambda mean, v, t: -stats.norm.logpdf(t, mean, np.sqrt(v)).mean(),
        "f_divergence": stats.entropy,
        "bregman_divergence": lambda x, y: special.kl_div(x, y).sum(),
        "pit_histogram": lambda mean, v, t: np.histogram(stats.norm.cdf(t, mean, np.sqrt(v)), 10, (0, 1))[0],
        "pairwise_rmsd": lambda x: distance.squareform(deviations(x - x.mean(axis=1, keepdims=True))),
        "autocorrelation": correlogram,
        "conformational_diversity": lambda x: deviations(x).mean(),
        "quantile": lambda x: stats.quantile(x, 0.5),
        "chi2_confidence_interval": lambda d: np.stack(stats.chi2.interval(0.99, d), axis=1),
    }


def domain_table(point: dict[str, Any]) -> Table:
    """Packages of single domains: scikit-image, properscoring, fairlearn, POT, nltk, rouge_score, networkx; NumPy for quantiles."""
    metric = str(point["metric"])
    import numpy as np

    def rouge() -> Callable[..., Any]:
        from rouge_score import rouge_scorer, tokenizers

        kind, measure = ("rouge1", "recall") if metric == "rouge_n" else ("rougeL", "fmeasure")

        class Words(tokenizers.Tokenizer):  # the package's own one cuts words to letters and digits, and stems them
            def tokenize(self, text: str) -> list[str]:
                return text.split()

        scorer = rouge_scorer.RougeScorer([kind], tokenizer=Words())
        return lambda c, r: getattr(scorer.score(r, c)[kind], measure)

    def crps() -> Callable[..., Any]:
        import properscoring

        return lambda x, y: properscoring.crps_ensemble(y, x).mean()

    def fair() -> Callable[..., Any]:
        import fairlearn.metrics as m
        from sklearn.metrics import accuracy_score as accuracy
        from sklearn.metrics import precision_score as precision

        if metric == "group_metric_breakdown":
            rates = {"n": m.count, "selected": m.selection_rate, "right": accuracy, "tpr": m.true_positive_rate, "fpr": m.false_positive_rate, "precision": precision}
            return lambda s, t, g: m.MetricFrame(metrics=rates, y_true=t, y_pred=s > 0.5, sensitive_features=g).by_group.to_numpy()
        if metric in ("demographic_parity_ratio", "disparate_impact_ratio"):
            return lambda s, g: m.demographic_parity_ratio(s > 0.5, s > 0.5, sensitive_features=g)
        return lambda s, t, g: getattr(m, metric)(t, s > 0.5, sensitive_features=g)

    def images() -> Callable[..., Any]:
        from skimage import metrics as m

        if metric == "psnr":
            return lambda x, y: m.peak_signal_noise_ratio(y, x, data_range=1.0)
        return lambda x, y: m.structural_similarity(x, y, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=1.0)

    def transport() -> Callable[..., Any]:
        import ot

        if metric == "sliced_wasserstein":
            return lambda x, y: ot.sliced_wasserstein_distance(x, y, n_projections=256, seed=0)

        def cost(x: Any, y: Any) -> Any:
            m, u, v = ot.dist(x, y), ot.unif(len(x)), ot.unif(len(y))
            plan = ot.sinkhorn(u, v, m, 0.1, method="sinkhorn_log", numItermax=1000, stopThr=1e-6)
            return (plan * m).sum() + 0.1 * (plan * np.log(np.maximum(plan, 1e-300) * len(x) * len(y))).sum()

        return lambda x, y: cost(x, y) - (cost(x, x) + cost(y, y)) / 2

    def graphs() -> Callable[..., Any]:
        import networkx as nx

        if metric == "spectral_distance":
            return lambda a, b: np.linalg.norm(nx.laplacian_spectrum(a) - nx.laplacian_spectrum(b))

        def resistance(g: Any) -> Any:
            r = nx.resistance_distance(g)
            return np.array([[r[i][j] for j in range(len(r))] for i in range(len(r))])

        return resistance

    def bleu() -> Callable[..., Any]:
        from nltk.translate import bleu_score

        return lambda c, r: bleu_score.sentence_bleu(r, c)

    makers = {
        crps: ("crps",),
        fair: ("demographic_parity_ratio", "disparate_impact_ratio", "equal_opportunity_difference", "equalized_odds_difference", "group_metric_breakdown"),
        images: ("psnr", "ssim"),
        transport: ("sliced_wasserstein", "sinkhorn_divergence"),
        graphs: ("spectral_distance", "resistance_distance"),
        bleu: ("bleu",),
        rouge: ("rouge_n", "rouge_l"),
        lambda: lambda x: np.quantile(x, 0.5): ("quantile", "streaming_quantile"),
    }
    return {metric: make() for make, metrics in makers.items() if metric in metrics}


def domain_arrange(provider: Any, point: dict[str, Any], *arrays: Any) -> tuple[Any, ...]:
    """Texts as words, graphs as networkx's: what the users of those packages have."""
    metric = point["metric"]
    if metric == "bleu":
        return (arrays[0].tolist(), arrays[1].tolist(), *arrays[2:])
    if metric in ("rouge_n", "rouge_l"):
        return (*(" ".join(map(str, x.tolist())) for x in arrays[:2]), *arrays[2:])
    if metric in ("spectral_distance", "resistance_distance"):
        import networkx as nx

        return tuple(nx.from_numpy_array(a) if a.size else a for a in arrays)
    return tuple(provider.array(a) for a in arrays)


def torch_table(point: dict[str, Any]) -> Table:
    import torch
    import torchmetrics.functional as f
    from torchmetrics.functional import classification as c
    from torchmetrics.functional import clustering as cluster
    from torchmetrics.functional import image, regression, retrieval, text
    from torchmetrics.functional.text.bert import _get_precision_recall_f1
    from torchmetrics.image.fid import FrechetInceptionDistance
    from torchmetrics.image.inception import InceptionScore
    from torchmetrics.image.kid import KernelInceptionDistance

    d = int(point.get("d", 1))
    many: dict[str, Any] = {"num_classes": d, "validate_args": False}
    two: dict[str, Any] = {"validate_args": False}

    class Features(torch.nn.Identity):  # in the place of a network
        num_features = d

    def distance(metric: Any, x: Any, y: Any) -> Any:
        metric.update(x, real=True)
        metric.update(y, real=False)
        return metric.compute()

    def inception(x: Any) -> Any:
        metric = InceptionScore(feature=Features(), splits=1)
        metric.update(x)
        return metric.compute()[0]

    def tokens(x: Any, y: Any) -> Any:
        """The part of bert_score behind the network."""
        even = torch.full(x.shape[:2], 1 / x.shape[1], dtype=x.dtype)
        unit = [(v / v.norm(dim=-1, keepdim=True))[:, None] for v in (x, y)]
        return _get_precision_recall_f1(*unit, even, even)[2].mean()

    plain = {
        f: dict(mse="mean_squared_error", mae="mean_absolute_error", r_squared="r2_score", mape="mean_absolute_percentage_error",
                explained_variance="explained_variance", log_cosh_loss="log_cosh_error", smape="symmetric_mean_absolute_percentage_error",
                pearson_correlation="pearson_corrcoef", spearman_rank_correlation="spearman_corrcoef"),
        cluster: dict(adjusted_rand_index="adjusted_rand_score", normalized_mutual_information_clustering="normalized_mutual_info_score",
                      adjusted_mutual_information="adjusted_mutual_info_score", v_measure="v_measure_score",
                      calinski_harabasz_score="calinski_harabasz_score", davies_bouldin_score="davies_bouldin_score"),
        retrieval: dict(mean_average_precision="retrieval_average_precision", mean_reciprocal_rank="retrieval_reciprocal_rank"),
    }  # fmt: skip
    binary = dict(
        precision="precision", recall="recall", f1_score="f1_score", roc_auc="auroc", average_precision="average_precision", specificity="specificity",
        sensitivity="recall", iou="jaccard_index", dice_coefficient="f1_score",
    )  # fmt: skip
    several = dict(matthews_corrcoef="matthews_corrcoef", cohen_kappa="cohen_kappa", confusion_matrix="confusion_matrix")
    return {
        **{metric: getattr(module, name) for module, names in plain.items() for metric, name in names.items()},
        **{metric: partial(getattr(c, f"binary_{name}"), **two) for metric, name in binary.items()},
        **{metric: partial(getattr(c, f"multiclass_{name}"), **many) for metric, name in several.items()},
        "rmse": lambda p, t: f.mean_squared_error(p, t, squared=False),
        "expected_calibration_error": lambda p, t: c.binary_calibration_error(p, t, n_bins=BINS, norm="l1", **two),
        "maximum_calibration_error": lambda p, t: c.binary_calibration_error(p, t, n_bins=BINS, norm="max", **two),
        "accuracy": lambda p, t: c.multiclass_accuracy(p, t, average="micro", **many),
        "fbeta_score": lambda p, t: c.binary_fbeta_score(p, t, beta=1.0, **two),
        "cosine_distance": lambda x, y: 1 - f.cosine_similarity(x, y, reduction="mean"),
        "minkowski_distance": lambda x, y: f.minkowski_distance(x, y, p=2),
        "kl_divergence": lambda p, q: f.kl_divergence(p[None], q[None]),
        "js_divergence": lambda p, q: regression.jensen_shannon_divergence(p[None], q[None]),
        "crps": regression.continuous_ranked_probability_score,
        "psnr": lambda x, y: image.peak_signal_noise_ratio(x, y, data_range=1.0),
        "ssim": lambda x, y: image.structural_similarity_index_measure(x[None, None], y[None, None], data_range=1.0),
        "ms_ssim": lambda x, y: image.multiscale_structural_similarity_index_measure(x[None, None], y[None, None], data_range=1.0),
        "ndcg": lambda s, t: retrieval.retrieval_normalized_dcg(s, (2**t - 1).long()),
        "ndcg_at_k": lambda s, t: retrieval.retrieval_normalized_dcg(s, (2**t - 1).long(), top_k=10),
        "precision_at_k": lambda s, t: retrieval.retrieval_precision(s, t, top_k=10),
        "recall_at_k": lambda s, t: retrieval.retrieval_recall(s, t, top_k=10),
        "hit_rate": lambda s, t: retrieval.retrieval_hit_rate(s, t, top_k=10),
        "pixel_accuracy": lambda p, t: c.multiclass_accuracy(p, t, average="micro", **many),
        "concordance_correlation": lambda x, y: f.concordance_corrcoef(x, y).squeeze(),
        "r_squared_adjusted": lambda p, t: f.r2_score(p, t, adjusted=1),
        "bleu": lambda c, r: text.bleu_score([c], [r]),
        "perplexity": lambda x: torch.exp(-x.mean()),
        "fid": lambda x, y: distance(FrechetInceptionDistance(feature=Features()).set_dtype(torch.float64), x, y),
        "kid": lambda x, y: distance(KernelInceptionDistance(feature=Features(), subset_size=len(x)), x, y)[0],
        "image_inception_score": inception,
        "bert_score": tokens,
    }


def learning_table(point: dict[str, Any]) -> Table:
    """pytorch-metric-learning; PyTorch alone where the package has another definition, or none."""
    import torch
    from pytorch_metric_learning import distances, losses, miners, reducers
    from torch.nn import functional as f

    d = int(point.get("d", 1))
    plain = distances.LpDistance(normalize_embeddings=False)
    mean = reducers.MeanReducer()
    each = reducers.DoNothingReducer()

    def contrast(x: Any, labels: Any) -> Any:
        parts = losses.ContrastiveLoss(neg_margin=1, distance=plain, reducer=each)(x, labels)
        return torch.cat([parts["pos_loss"]["losses"] ** 2, parts["neg_loss"]["losses"] ** 2]).mean()

    def pairs_of(x: Any, y: Any) -> Any:
        labels = torch.arange(len(x))
        loss = losses.NPairsLoss(distance=distances.DotProductSimilarity(normalize_embeddings=False))
        return loss(torch.cat([x, y]), torch.cat([labels, labels]))

    def of_classes(make: Any, weights: str = "W", **options: Any) -> Callable[..., Any]:
        def call(x: Any, labels: Any, w: Any) -> Any:
            loss = make(num_classes=d, embedding_size=d, **options)
            setattr(loss, weights, torch.nn.Parameter(w.T if weights == "W" else w))
            return loss(x, labels)

        return call

    def sphere(x: Any, labels: Any, w: Any) -> Any:
        c = f.normalize(x) @ f.normalize(w).T
        own = c.gather(1, labels[:, None])
        k = torch.floor(4 * torch.arccos(own) / torch.pi)
        moved = (1 - 2 * (k % 2)) * (8 * own**4 - 8 * own**2 + 1) - 2 * k
        return f.cross_entropy(c.scatter(1, labels[:, None], moved) * x.norm(dim=1, keepdim=True), labels)

    def hard(x: Any, labels: Any) -> Any:
        out = torch.full((len(x), len(x)), -1)
        a, p, b, n = miners.BatchEasyHardMiner(distance=plain, pos_strategy="all", neg_strategy="hard")(x, labels)
        closest = torch.empty(len(x), dtype=n.dtype)
        closest[b] = n
        out[a, p] = closest[a]
        return out

    def chosen(x: Any, labels: Any) -> Any:
        out = torch.zeros((len(x), len(x)), dtype=x.dtype)
        a, p, b, n = miners.MultiSimilarityMiner(epsilon=0.1)(x, labels)
        out[a, p] = out[b, n] = 1
        return out

    table: Table = {
        "contrastive_loss": contrast,
        "lifted_structure_loss": losses.LiftedStructureLoss(neg_margin=1, distance=plain),
        "nt_xent_loss": losses.NTXentLoss(temperature=0.5),
        "supervised_contrastive_loss": losses.SupConLoss(temperature=0.1),
        "multi_similarity_loss": losses.MultiSimilarityLoss(alpha=2, beta=50, base=0.5),
        "circle_loss": losses.CircleLoss(m=0.4, gamma=80),
        "n_pairs_loss": pairs_of,
        "info_nce_loss": lambda x, y: f.cross_entropy(f.normalize(x) @ f.normalize(y).T / 0.07, torch.arange(len(x))),
        "triplet_margin_loss": losses.TripletMarginLoss(margin=0.2, distance=plain, reducer=mean),
        "triplet_soft_margin_loss": losses.TripletMarginLoss(margin=0, smooth_loss=True, distance=plain, reducer=mean),
        "margin_based_loss": losses.MarginLoss(margin=0.2, beta=1.2),
        "normalized_softmax_loss": of_classes(losses.NormalizedSoftmaxLoss, temperature=0.05),
        "arcface_loss": of_classes(losses.ArcFaceLoss, margin=float(torch.rad2deg(torch.tensor(0.5, dtype=torch.float64))), scale=64),
        "cosface_loss": of_classes(losses.CosFaceLoss, margin=0.35, scale=64),
        "sphereface_loss": sphere,
        "proxy_nca_loss": of_classes(losses.ProxyNCALoss, "proxies", softmax_scale=1),
        "proxy_anchor_loss": of_classes(losses.ProxyAnchorLoss, "proxies", margin=0.1, alpha=32),
        "center_loss": lambda x, labels, w: f.mse_loss(x, w[labels], reduction="sum") / (2 * len(x)),
        "mine_hard_negatives": hard,
        "mine_multi_similarity_pairs": chosen,
    }
    return {name: torch.no_grad()(call) for name, call in table.items()}


def torch_arrange(provider: Any, point: dict[str, Any], *arrays: Any) -> tuple[Any, ...]:
    if point["metric"] == "bleu":
        return tuple(" ".join(map(str, a.tolist())) if i == 0 else [" ".join(map(str, r)) for r in a.tolist()] for i, a in enumerate(arrays[:2])) + arrays[2:]
    return tuple(provider.array(a) for a in arrays)


def calibrax_table(point: dict[str, Any]) -> Table:
    """The package's function of that name."""
    import calibrax.metrics.functional as functional
    import jax

    metric, d = str(point["metric"]), int(point.get("d", 1))
    at_k = {name: {"k": 10} for name in ("ndcg_at_k", "precision_at_k", "recall_at_k", "hit_rate")}
    classes = {name: {"num_classes": max(d, 2)} for name in ("precision", "recall", "f1_score", "fbeta_score", "cohen_kappa", "balanced_accuracy", "classwise_ece", "iou", "dice_coefficient",
                                                    "adjusted_rand_index", "normalized_mutual_information_clustering", "v_measure")}  # fmt: skip
    clusters = {name: {"num_clusters": d} for name in ("silhouette_score", "calinski_harabasz_score", "davies_bouldin_score")}
    groups = {name: {"num_groups": d} for name in ("demographic_parity_ratio", "disparate_impact_ratio", "equal_opportunity_difference", "equalized_odds_difference")}
    others: dict[str, dict[str, Any]] = {
        "r_squared_adjusted": {"num_predictors": 1},
        "interval_score": {"alpha": 0.1},
        "ultrahyperbolic_distance": {"signature": (1, d - 1)},
    }
    options = {**at_k, **classes, **clusters, **groups, **others}.get(metric, {})
    if metric == "sliced_wasserstein":
        options = {"key": jax.random.key(0)}
    if metric in ("predictive_entropy", "ensemble_mutual_information"):  # members first, a number for each item
        return {metric: lambda p: getattr(functional, metric)(p.swapaxes(0, 1)).mean()}
    made = calibrax_classes(d)
    if metric in made:
        return {metric: made[metric]}
    if metric == "mahalanobis_distance":
        return {metric: lambda x, y, p: functional.mahalanobis_distance(x, y, precision_matrix=p)}
    return {metric: partial(getattr(functional, metric), **options)}


def calibrax_classes(d: int) -> Table:
    """What the package has as classes, with functions as operands, or with results in a dictionary."""
    import calibrax.metrics.functional as functional
    import jax
    import jax.numpy as jnp
    from calibrax.metrics import learning
    from calibrax.metrics.functional import forecasting, generative, geometric, information, statistical, uncertainty
    from calibrax.metrics.plugins import image, scientific, text
    from flax import nnx

    def diagram(p: Any, t: Any) -> Any:
        bins = functional.reliability_diagram_bins(p, t)
        return jnp.stack([bins["bin_confidences"], bins["bin_accuracies"], bins["bin_counts"]], axis=1)

    def frechet(x: Any, y: Any) -> Any:
        metric = image.FIDMetric(feature_dim=d)
        metric.update(real=x, generated=y)
        return jnp.asarray(metric.compute()["fid"])

    def tokens(x: Any, y: Any) -> Any:
        metric = text.BERTScoreMetric()
        for a, b in zip(x, y):
            metric.update(candidate_embeddings=a, reference_embeddings=b)
        return jnp.asarray(metric.compute()["bertscore_f1"])

    def of_classes(make: Any, weights: str) -> Callable[..., Any]:
        def call(x: Any, labels: Any, w: Any) -> Any:
            loss = make(d, d, rngs=nnx.Rngs(0))
            setattr(loss, weights, nnx.Param(w.T if weights == "_weight" else w))
            return loss(x, labels)

        return call

    def log_likelihood(x: Any) -> Any:
        return -jnp.sum(jnp.cosh(x)) - jnp.sum(x) ** 2 / 2

    return {
        "coverage": lambda items: functional.coverage(items, catalog_size=d),
        "randers_distance": lambda x, y: functional.randers_distance(x, y, direction=jnp.eye(d)[0], magnitude=0.5),
        "reliability_diagram_bins": diagram,
        "f_divergence": lambda p, q: functional.f_divergence(p, q, generator=lambda t: t * jnp.log(t)),
        "bregman_divergence": lambda x, y: functional.bregman_divergence(x, y, generator=lambda v: jnp.sum(v * jnp.log(v))),
        "rank_histogram": forecasting.rank_histogram,
        "ensemble_ranked_probability_score": lambda x, y, at: forecasting.ensemble_ranked_probability_score(x, y, thresholds=at),
        "ranked_probability_skill_score": forecasting.ranked_probability_skill_score,
        "pit_histogram": forecasting.pit_histogram,
        "inception_score_per_split": generative.inception_score_per_split,
        "pairwise_rmsd": lambda x: geometric.pairwise_rmsd(x, jnp.ones(x.shape[:2], bool)),
        "fisher_information_matrix": lambda x: information.fisher_information_matrix(log_likelihood, x),
        "autocorrelation": lambda x: statistical.autocorrelation(x, max_lag=x.shape[1]),
        "fid": frechet,
        "image_inception_score": lambda x: generative.inception_score(jax.nn.softmax(x), splits=1),
        "bert_score": tokens,
        "contrastive_loss": learning.ContrastiveLoss(),
        "supervised_contrastive_loss": learning.NTXentLoss(temperature=0.1),
        "triplet_margin_loss": learning.TripletMarginLoss(),
        "arcface_loss": of_classes(learning.ArcFaceLoss, "_weight"),
        "cosface_loss": of_classes(learning.CosFaceLoss, "_weight"),
        "proxy_anchor_loss": of_classes(learning.ProxyAnchorLoss, "_proxies"),
        "chemical_validity": scientific.chemical_validity,
        "binding_affinity_metrics": lambda p, t: jnp.stack([scientific.binding_affinity_metrics(p, t)[f"binding_{k}"] for k in ("mse", "mae", "r_squared", "pearson")]),
        "conformational_diversity": scientific.conformational_diversity,
        "chi2_confidence_interval": lambda dims: jnp.asarray([uncertainty.chi2_confidence_interval(float(v)) for v in dims]),
    }


def calibrax_arrange(provider: Any, point: dict[str, Any], *arrays: Any) -> tuple[Any, ...]:
    """Texts as lists of words."""
    if point["metric"] in ("bleu", "rouge_n", "rouge_l", "distinct_n"):
        return tuple(_words(a) if a.size else a for a in arrays)
    return tuple(provider.array(a) for a in arrays)


def _words(a: Any) -> list[Any]:
    return list(map(str, a.tolist())) if a.ndim == 1 else [_words(row) for row in a]


def _prepare(table: Callable[[dict[str, Any]], Table], finish: Callable[[Any], Any]) -> Callable[..., Callable[..., Any]]:
    def prepare(provider: Any, point: dict[str, Any], *arrays: Any) -> Callable[..., Any]:
        metric = str(point.get("metric"))
        call = table(point).get(metric)
        require(call, f"this baseline has no metric '{metric[:40]}'")
        given = [i for i, a in enumerate(arrays) if isinstance(a, (str, list)) or not hasattr(a, "shape") or 0 not in a.shape]
        count = len(given)
        return lambda *operands: finish(call(*operands[:count]))

    return prepare


def _host(x: Any) -> Any:
    import numpy

    return numpy.asarray(x, numpy.float64)


def _tensor(x: Any) -> Any:
    import torch

    return torch.as_tensor(x, dtype=torch.float64)


def _compiled(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(x, dtype=jnp.float64)


def oracle(point: dict[str, Any]) -> tuple[Callable[..., Any], list[tuple[float, float, str | None]]]:
    from cases import metrics_oracle

    metric = str(point.get("metric"))
    require(metric in metrics_oracle.ORACLE, f"the oracle has no metric '{metric[:40]}'")
    function = metrics_oracle.ORACLE[metric]

    def answer(*operands: Any) -> Any:
        return _host(function(*(x for x in operands if x.size)))

    return answer, [(metrics_oracle.TOLERANCE.get(metric, 1e-12), 0.0, None)]


CASE = Case(
    name="metrics",
    inputs=("a", "b", "c", "d"),
    outputs=("result",),
    oracle=oracle,
    baselines={
        "scikit-learn": Baseline("metrics", _prepare(sklearn_table, _host)),
        "scipy": Baseline("metrics", _prepare(scipy_table, _host)),
        "domain": Baseline("metrics", _prepare(domain_table, _host), domain_arrange),
        "pytorch-metric-learning": Baseline("torchmetrics", _prepare(learning_table, _tensor), torch_arrange),
        "pytorch-metric-learning-less": Baseline("torchmetrics", _prepare(learning_table, _tensor), torch_arrange),
        "torchmetrics": Baseline("torchmetrics", _prepare(torch_table, _tensor), torch_arrange),
        "torchmetrics-less": Baseline("torchmetrics", _prepare(torch_table, _tensor), torch_arrange),
        "calibrax-python": Baseline("calibrax", _prepare(calibrax_table, _compiled), calibrax_arrange),
        "calibrax-python-less": Baseline("calibrax", _prepare(calibrax_table, _compiled), calibrax_arrange),
    },
)
