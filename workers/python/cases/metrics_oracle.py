"""Answers of the case metrics: formulas in extended precision, or an algorithm that no baseline has.

    ORACLE["rmse"](p, t) -> the value

TOLERANCE has how far a right answer may be off, relative to it.  1e-12 where no other number is given: some thousand roundings, what sums
of 10^6 numbers in any order keep.  0 where the answer is one of the operands, or a count.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

BINS = 10
K, DENSITY_K = 3, 5
TOP = 10  # of metrics at k
Long = np.longdouble


def long(*arrays: Any) -> list[Any]:
    return [np.asarray(a).astype(Long) for a in arrays]


def mean(x: Any) -> Any:
    return np.sum(x, dtype=Long) / x.size


def entropy(p: Any, axis: Any = None) -> Any:
    p = p.astype(Long)
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=axis)


def relative_entropy(p: Any, q: Any) -> Any:
    p, q = long(p, q)
    return np.sum(p * (np.log(p) - np.log(q)))


def squares(x: Any, axis: Any = -1) -> Any:
    return np.sum(x * x, axis=axis)


def norm(x: Any, axis: Any = -1) -> Any:
    return np.sqrt(squares(x, axis))


# --- regression ---


def error(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda p, t: mean(f(*long(p, t)))


def r_squared(p: Any, t: Any) -> Any:
    p, t = long(p, t)
    return 1 - np.sum((t - p) ** 2) / np.sum((t - mean(t)) ** 2)


def explained(p: Any, t: Any) -> Any:
    p, t = long(p, t)
    e = t - p
    return 1 - np.sum((e - mean(e)) ** 2) / np.sum((t - mean(t)) ** 2)


def log_cosh(p: Any, t: Any) -> Any:
    e = abs(p.astype(Long) - t)
    return mean(e + np.log1p(np.exp(-2 * e)) - np.log(Long(2)))


# --- signals ---


def frames(x: Any, size: int, hop: int) -> Any:
    """Magnitudes of Hann windows centred on multiples of hop, with zeros beyond the ends."""
    x = np.pad(x, size // 2)
    windows = np.lib.stride_tricks.sliding_window_view(x, size)[::hop]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    return abs(np.fft.rfft(windows * hann))


def convergence(p: Any, t: Any) -> Any:
    a, b = long(frames(p, 1024, 256), frames(t, 1024, 256))
    return np.sqrt(np.sum((a - b) ** 2) / np.sum(b**2))


def mel_bands(rate: float, size: int, count: int) -> Any:
    step = 27 / np.log(6.4)  # mels above 1000 Hz
    top = rate / 2
    mels = np.linspace(0, top * 0.015 if top < 1000 else 15 + step * np.log(top / 1000), count + 2)
    hz = np.where(mels < 15, mels / 0.015, 1000 * np.exp((mels - 15) / step))
    f = np.arange(size // 2 + 1) * rate / size
    up = (f - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    down = (hz[2:, None] - f) / (hz[2:] - hz[1:-1])[:, None]
    return np.clip(np.minimum(up, down), 0, None) * (2 / (hz[2:] - hz[:-2]))[:, None]


def distortion(p: Any, t: Any) -> Any:
    mels, count = 80, 13
    bands = mel_bands(22050.0, 1024, mels)
    angles = np.pi * np.outer(np.arange(1, count + 1), np.arange(mels) + 0.5) / mels

    def cepstra(x: Any) -> Any:
        s = frames(x, 1024, 256) ** 2 @ bands.T
        return np.log(np.maximum(s, s.max() * 1e-8)) @ np.cos(angles).T / mels

    return mean(10 / np.log(Long(10)) * np.sqrt(2 * squares((cepstra(p) - cepstra(t)).astype(Long))))


# --- calibration and classification ---


def bin_sums(p: Any, t: Any) -> tuple[Any, Any, Any]:
    i = np.minimum(np.searchsorted(np.linspace(0, 1, BINS + 1), p, side="right") - 1, BINS - 1)
    order = np.argsort(i, kind="stable")
    edges = np.searchsorted(i[order], np.arange(BINS + 1))
    gap = (t.astype(Long) - p)[order]
    return np.diff(edges), np.array([np.sum(gap[a:b]) for a, b in zip(edges, edges[1:])]), i


def adaptive(p: Any, t: Any) -> Any:
    gap = (t.astype(Long) - p)[np.argsort(p, kind="stable")]
    return sum(abs(np.sum(part)) for part in np.array_split(gap, BINS)) / p.size


def classwise(p: Any, t: Any) -> Any:
    return sum(np.sum(abs(bin_sums(p[:, k], t == k)[1])) for k in range(p.shape[1])) / p.shape[1] / len(t)


def reliability(p: Any, t: Any) -> Any:
    n, gap, _ = bin_sums(p, t)
    return np.sum(gap**2 / n) / p.size


def table(p: Any, t: Any, k: int | None = None) -> Any:
    """Counts of targets by predictions, by comparisons."""
    k = k or int(max(p.max(), t.max())) + 1
    return np.array([[np.count_nonzero(p[t == i] == j) for j in range(k)] for i in range(k)], dtype=Long)


def binary(f: Callable[..., Any]) -> Callable[..., Any]:
    """f(true positives, false positives, false negatives, true negatives)"""

    def score(p: Any, t: Any) -> Any:
        (tn, fp), (fn, tp) = table(p, t, 2)
        return f(tp, fp, fn, tn)

    return score


def auc(s: Any, t: Any) -> Any:
    """Mann and Whitney: positives above negatives, of scores without ties."""
    ordered = t[np.argsort(s, kind="stable")]
    positives = int(t.sum())
    above = np.sum(np.cumsum(1 - ordered)[ordered == 1])
    return Long(above) / (Long(positives) * (t.size - positives))


def precision_sum(s: Any, t: Any) -> Any:
    hits = np.flatnonzero(t[np.argsort(-s, kind="stable")] > 0)
    return np.sum(np.arange(1, hits.size + 1) / (hits + 1).astype(Long)) / hits.size


def log_loss(p: Any, t: Any) -> Any:
    p = p.astype(Long)
    return -mean(np.log(np.where(t == 1, p, 1 - p)))


def matthews(p: Any, t: Any) -> Any:
    c = table(p, t)
    a, b, n = c.sum(axis=0), c.sum(axis=1), c.sum()
    return (np.trace(c) * n - a @ b) / np.sqrt((n * n - a @ a) * (n * n - b @ b))


def kappa(p: Any, t: Any) -> Any:
    c = table(p, t)
    chance = c.sum(axis=0) @ c.sum(axis=1) / c.sum()
    return (np.trace(c) - chance) / (c.sum() - chance)


def balanced(p: Any, t: Any) -> Any:
    c = table(p, t)
    return mean(np.diag(c) / c.sum(axis=1))


def softmax_loss(x: Any, t: Any) -> Any:
    x = x.astype(Long)
    x -= x.max(axis=1, keepdims=True)
    return mean(np.log(np.sum(np.exp(x), axis=1)) - x[np.arange(len(t)), t])


# --- clustering ---


def pairs(p: Any, t: Any) -> Any:
    k = int(max(p.max(), t.max())) + 1
    c = np.zeros((k, k), np.int64)
    np.add.at(c, (t, p), 1)
    return c.astype(Long)


def rand(p: Any, t: Any) -> Any:
    c = pairs(p, t)
    two = lambda x: np.sum(x * (x - 1)) / 2  # noqa: E731
    both, a, b, n = two(c), two(c.sum(axis=0)), two(c.sum(axis=1)), c.sum()
    chance = a * b / (n * (n - 1) / 2)
    return (both - chance) / ((a + b) / 2 - chance)


def mutual(joint: Any) -> Any:
    return entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint)


def normalized(p: Any, t: Any) -> Any:
    j = pairs(p, t) / Long(p.size)
    return mutual(j) / ((entropy(j.sum(axis=0)) + entropy(j.sum(axis=1))) / 2)


def adjusted(p: Any, t: Any) -> Any:
    """The expectation by logarithms of factorials, of every count that can be."""
    c = pairs(p, t)
    n = p.size
    log_factorial = np.concatenate([[Long(0)], np.cumsum(np.log(np.arange(1, n + 1, dtype=Long)))])
    expected = Long(0)
    for a in c.sum(axis=1).astype(int):
        for b in c.sum(axis=0).astype(int):
            k = np.arange(max(1, a + b - n), min(a, b) + 1)
            f = log_factorial
            log_p = f[a] + f[b] + f[n - a] + f[n - b] - f[n] - f[k] - f[a - k] - f[b - k] - f[n - a - b + k]
            expected += np.sum(k / Long(n) * np.log(Long(n) * k / (Long(a) * b)) * np.exp(log_p))
    j = c / n
    h = (entropy(j.sum(axis=0)) + entropy(j.sum(axis=1))) / 2
    return (mutual(j) - expected) / (h - expected)


def silhouette(x: Any, labels: Any) -> Any:
    total = Long(0)
    groups = [x[labels == k] for k in np.unique(labels)]
    for k, own in enumerate(groups):
        means = [np.concatenate([np.sqrt(squares(v - g)).sum(axis=1)[:, None] for v in np.array_split(own[:, None], 1 + len(own) // 64)]) for g in groups]
        sizes = np.array([len(g) for g in groups], float)
        sizes[k] -= 1
        m = np.concatenate(means, axis=1) / sizes
        a = m[:, k].copy()
        m[:, k] = np.inf
        b = m.min(axis=1)
        total += np.sum((b - a) / np.maximum(a, b), dtype=Long)
    return total / len(x)


def grouped(x: Any, labels: Any) -> tuple[list[Any], Any]:
    groups = [x[labels == k].astype(Long) for k in np.unique(labels)]
    return groups, np.array([g.mean(axis=0) for g in groups])


def calinski(x: Any, labels: Any) -> Any:
    groups, centres = grouped(x, labels)
    between = sum(len(g) * squares(c - x.astype(Long).mean(axis=0)) for g, c in zip(groups, centres))
    within = sum(np.sum((g - c) ** 2) for g, c in zip(groups, centres))
    return between / (len(groups) - 1) / (within / (len(x) - len(groups)))


def davies(x: Any, labels: Any) -> Any:
    groups, centres = grouped(x, labels)
    spread = np.array([norm(g - c).mean() for g, c in zip(groups, centres)])
    apart = norm(centres[:, None] - centres)
    np.fill_diagonal(apart, np.inf)
    return ((spread[:, None] + spread) / apart).max(axis=1).mean()


# --- distances, divergences ---


def rows(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: mean(f(*long(*operands)))


def poincare(x: Any, y: Any) -> Any:
    z = 2 * squares(x - y) / ((1 - squares(x)) * (1 - squares(y)))
    return np.log1p(z + np.sqrt(z * (z + 2)))


def hyperbolic(x: Any, y: Any) -> Any:
    e = x - y
    return 2 * np.arcsinh(np.sqrt(np.maximum(squares(e[:, 1:]) - e[:, 0] ** 2, 0)) / 2)


def unequal_gap(x: Any, y: Any) -> Any:
    return mean(abs(np.sort(x).astype(Long) - np.sort(y)))


def gap_of_steps(x: Any, y: Any) -> Any:
    at = np.concatenate([x, y])
    x, y = np.sort(x), np.sort(y)
    return Long(abs(np.searchsorted(x, at, side="right") - np.searchsorted(y, at, side="right")).max()) / x.size


def kernel_sum(x: Any, y: Any) -> Any:
    return sum(np.sum(np.exp(-squares(a[:, None] - y) / 2), dtype=Long) for a in np.array_split(x, 1 + len(x) // 64))


def mmd_squared(x: Any, y: Any) -> Any:
    n, m = Long(len(x)), Long(len(y))
    return kernel_sum(x, x) / n**2 + kernel_sum(y, y) / m**2 - 2 * kernel_sum(x, y) / (n * m)


def mmd_unbiased(x: Any, y: Any) -> Any:
    n, m = Long(len(x)), Long(len(y))
    return (kernel_sum(x, x) - n) / (n * (n - 1)) + (kernel_sum(y, y) - m) / (m * (m - 1)) - 2 * kernel_sum(x, y) / (n * m)


def sinkhorn(x: Any, y: Any) -> Any:
    """By scaling with the kernel, in extended precision, until nothing moves."""

    def cost(a: Any, b: Any) -> Any:
        c = squares(a.astype(Long)[:, None] - b)
        kernel = np.exp(-c / Long(0.1)) / Long(len(b) * len(a))
        u, v = np.ones(len(a), Long), np.ones(len(b), Long)
        for _ in range(3000):
            u = 1 / (kernel @ v) / len(a)
            v = 1 / (u @ kernel) / len(b)
        plan = u[:, None] * kernel * v
        return np.sum(plan * c) + Long(0.1) * np.sum(plan * np.log(plan * len(a) * len(b)))

    return cost(x, y) - (cost(x, x) + cost(y, y)) / 2


def sliced(x: Any, y: Any) -> Any:
    """In the plane, by as many directions at equal angles."""
    angles = np.pi * (np.arange(4096) + 0.5) / 4096
    return np.sqrt(np.mean([np.mean((np.sort(x @ d) - np.sort(y @ d)) ** 2) for d in np.stack([np.cos(angles), np.sin(angles)], axis=1)]))


# --- groups, ensembles ---


def selection(s: Any, g: Any) -> Any:
    rates = [Long(np.count_nonzero(s[g == k] > 0.5)) / np.count_nonzero(g == k) for k in np.unique(g)]
    return min(rates) / max(rates)


def spread(s: Any, t: Any, g: Any, label: int) -> Any:
    rates = [Long(np.count_nonzero(s[(g == k) & (t == label)] > 0.5)) / np.count_nonzero((g == k) & (t == label)) for k in np.unique(g)]
    return max(rates) - min(rates)


def crps(x: Any, y: Any, pairs_of: int = 0) -> Any:
    """The spread of sorted members: sum of (2 i - m + 1) x_i."""
    m = x.shape[1]
    ordered = np.sort(x, axis=1).astype(Long)
    between = ordered @ (2 * np.arange(m) - m + 1).astype(Long)
    return mean(np.mean(abs(x.astype(Long) - y[:, None]), axis=1) - between / (m * (m - pairs_of)))


def energy(x: Any, y: Any) -> Any:
    m = x.shape[1]
    x, y = long(x, y)
    within = sum(norm(x[:, i] - x[:, j]) for i in range(m) for j in range(i)) / m**2
    return mean(np.mean(norm(x - y[:, None]), axis=1) - within)


def spread_skill(x: Any, y: Any) -> Any:
    x, y = long(x, y)
    v = x.var(axis=1, ddof=1)
    return np.sqrt(mean(v) / mean((x.mean(axis=1) - y) ** 2 - v / x.shape[1]))


def ranked(p: Any, t: Any) -> Any:
    steps = np.arange(p.shape[1]) >= t[:, None]
    return mean(squares(np.cumsum(p.astype(Long), axis=1) - steps))


# --- sets of points ---


def frechet(x: Any, y: Any) -> Any:
    a, b = np.cov(x.T), np.cov(y.T)
    w, v = np.linalg.eigh(a)
    root = (v * np.sqrt(w)) @ v.T
    cross = np.sqrt(np.linalg.eigvalsh(root @ b @ root)).sum()
    return squares(x.mean(axis=0) - y.mean(axis=0)) + np.trace(a) + np.trace(b) - 2 * cross


def inception_parts(p: Any) -> Any:
    def score(p: Any) -> Any:
        p = p.astype(Long)
        return np.exp(entropy(p.mean(axis=0)) - mean(entropy(p, axis=1)))

    return np.array([score(part) for part in np.array_split(p, 10)])


def correlations(x: Any, y: Any) -> Any:
    def of(x: Any) -> Any:
        x = x.astype(Long) - x.astype(Long).mean(axis=0)
        x /= np.sqrt(np.sum(x * x, axis=0))
        return np.array([[np.sum(a * b) for b in x.T] for a in x.T])

    gap = abs(of(x) - of(y))
    return 1 - np.sum(gap - np.diag(np.diag(gap))) / (x.shape[1] * (x.shape[1] - 1))


def block_squares(x: Any, y: Any) -> Any:
    """Blocks of rows of all squared distances."""
    for a in np.array_split(x, 1 + len(x) // 128):
        yield squares(a[:, None] - y)


def kth(x: Any, y: Any, k: int) -> Any:
    return np.concatenate([np.partition(s, k, axis=1)[:, k] for s in block_squares(x, y)])


def covering(reference: Any, x: Any, k: int) -> Any:
    radii = kth(reference, reference, k) * (1 + 1e-13)
    return np.concatenate([np.sum(s <= radii, axis=1) for s in block_squares(x, reference)])


def closest(x: Any, y: Any) -> Any:
    low, high = np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))
    return mean(kth((y - low) / (high - low), (x - low) / (high - low), 0))


def nearest(x: Any, y: Any) -> Any:
    return np.sqrt(kth(x, y, 0))


def kabsch(x: Any, y: Any) -> Any:
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    u, s, vh = np.linalg.svd(x.T @ y)
    s[-1] *= np.sign(np.linalg.det(u) * np.linalg.det(vh))
    return np.sqrt((np.sum(x.astype(Long) ** 2) + np.sum(y.astype(Long) ** 2) - 2 * s.sum()) / len(x))


# --- graphs, images, manifolds ---


def laplacian(a: Any) -> Any:
    return np.diag(a.sum(axis=0)) - a


def edit_bound(a: Any, b: Any) -> Any:
    degrees = abs(np.sort(a.sum(axis=0)) - np.sort(b.sum(axis=0))).sum() / 2
    return max(degrees, abs(np.linalg.eigvalsh(a) - np.linalg.eigvalsh(b)).sum() / 2)


def resistance(a: Any) -> Any:
    n = len(a)
    g = np.linalg.inv(laplacian(a) + np.ones((n, n)) / n)
    return np.diag(g)[:, None] + np.diag(g) - 2 * g


def paths(a: Any) -> Any:
    """Powers of the reach of each vertex."""
    reach, d = np.eye(len(a), dtype=bool), np.where(np.eye(len(a)), 0, np.inf)
    for step in range(1, len(a)):
        reach = (reach @ (a > 0)) | reach
        new = reach & np.isinf(d)
        if not new.any():
            break
        d[new] = step
    return d


def window() -> Any:
    g = np.exp(-((np.arange(11) - 5.0) ** 2) / (2 * 1.5**2))
    return g / g.sum()


def blurred(x: Any) -> Any:
    w = window().astype(Long)
    for axis in (0, 1):
        n = x.shape[axis] - 10
        x = sum(w[i] * x.take(range(i, i + n), axis=axis) for i in range(11))
    return x


def similarity(x: Any, y: Any) -> tuple[Any, Any]:
    x, y = long(x, y)
    a, b = blurred(x), blurred(y)
    va, vb, c = blurred(x * x) - a * a, blurred(y * y) - b * b, blurred(x * y) - a * b
    cs = (2 * c + Long(0.03) ** 2) / (va + vb + Long(0.03) ** 2)
    return mean(cs), mean(cs * (2 * a * b + Long(0.01) ** 2) / (a * a + b * b + Long(0.01) ** 2))


def scales(x: Any, y: Any) -> Any:
    powers, result = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333), Long(1)
    for i, power in enumerate(powers):
        cs, full = similarity(x, y)
        result *= max(full if i == len(powers) - 1 else cs, 0) ** Long(power)
        x, y = (v[: len(v) // 2 * 2, : v.shape[1] // 2 * 2].reshape(len(v) // 2, 2, v.shape[1] // 2, 2).mean(axis=(1, 3)) for v in (x, y))
    return result


def vendi(k: Any) -> Any:
    return np.exp(entropy(np.linalg.svd(k / len(k), compute_uv=False)))


def logarithm(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return (v * np.log(w)) @ v.T


def affine(a: Any, b: Any) -> Any:
    w, v = np.linalg.eigh(a)
    half = (v / np.sqrt(w)) @ v.T
    return norm(np.log(np.linalg.eigvalsh(half @ b @ half)))


def angles(u: Any, v: Any) -> Any:
    """By sines and cosines of the products' singular values."""
    cos = np.linalg.svd(u.T @ v, compute_uv=False)
    sin = np.linalg.svd(v - u @ (u.T @ v), compute_uv=False)[::-1]
    return norm(np.arctan2(sin, cos))


# --- ranks, texts, uncertainty ---


def gain(s: Any, t: Any, k: int) -> Any:
    weights = 1 / np.log2(np.arange(2, t.size + 2).astype(Long))[:k]
    value = lambda t: np.sum((2.0 ** t[:k] - 1) * weights)  # noqa: E731
    return value(t[np.argsort(-s, kind="stable")]) / value(np.sort(t)[::-1])


def ranks(x: Any) -> Any:
    """Of values without ties."""
    r = np.empty(x.size)
    r[np.argsort(x)] = np.arange(x.size)
    return r


def pearson(x: Any, y: Any) -> Any:
    x, y = long(x, y)
    a, b = x - mean(x), y - mean(y)
    return np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b))


def kendall(x: Any, y: Any) -> Any:
    """Without ties, discordant pairs counted by digits: of two ranks that first differ in bit k, the one with the bit is larger."""
    r = ranks(y)[np.argsort(x)].astype(np.int64)
    swaps = 0
    for bit in range(int(r.size - 1).bit_length()):
        order = np.argsort(r >> (bit + 1), kind="stable")
        group, one = (r >> (bit + 1))[order], (r[order] >> bit) & 1
        ones = np.cumsum(one)
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        before = np.concatenate([[0], ones])[starts]
        inside = ones - np.repeat(before, np.diff(np.append(starts, r.size)))
        swaps += int(np.sum(inside[one == 0]))
    n = r.size
    return 1 - 4 * Long(swaps) / (Long(n) * (n - 1))


def concordance(x: Any, y: Any) -> Any:
    x, y = long(x, y)
    a, b = mean(x), mean(y)
    return 2 * mean((x - a) * (y - b)) / (mean((x - a) ** 2) + mean((y - b) ** 2) + (a - b) ** 2)


def skewness(x: Any) -> Any:
    d = x.astype(Long)
    d = d - mean(d)
    return mean(d**3) / mean(d**2) ** Long(1.5)


def grams(text: Any, n: int) -> dict[tuple[int, ...], int]:
    counts: dict[tuple[int, ...], int] = {}
    for gram in zip(*(text[i:].tolist() for i in range(n))):
        counts[gram] = counts.get(gram, 0) + 1
    return counts


def shared(a: dict[Any, int], b: dict[Any, int]) -> int:
    return sum(min(n, b.get(g, 0)) for g, n in a.items())


def bleu(candidate: Any, references: Any) -> Any:
    """References of the candidate's length."""
    logs = Long(0)
    for n in range(1, 5):
        many: dict[Any, int] = {}
        for r in references:
            for gram, count in grams(r, n).items():
                many[gram] = max(many.get(gram, 0), count)
        logs += np.log(Long(shared(grams(candidate, n), many)) / (candidate.size - n + 1)) / 4
    return np.exp(logs)


def common(a: Any, b: Any) -> Any:
    row = np.zeros(b.size + 1, np.int64)
    for x in a:
        step = np.concatenate([[0], row[:-1] + (b == x)])
        row = np.maximum.accumulate(np.maximum(row, step))
        row = np.maximum.accumulate(row)
    return 2 * Long(row[-1]) / (a.size + b.size)


def gaussian(m: Any, v: Any, t: Any) -> Any:
    m, v, t = long(m, v, t)
    return mean((np.log(2 * Long(np.pi) * v) + (t - m) ** 2 / v) / 2)


def normalized_errors(m: Any, p: Any, t: Any) -> Any:
    e = t - m
    return np.sum(e * np.linalg.solve(p, e[..., None])[..., 0], axis=1)


def levels(cdf: Any) -> Any:
    return mean(np.array([abs(Long(np.count_nonzero(cdf <= q)) / cdf.size - Long(q)) for q in np.arange(1, 10) / 10]))


# --- features ---


def polynomial_gap(x: Any, y: Any) -> Any:
    """Unbiased, of the kernel (x y / d + 1)^3."""
    x, y = long(x, y)
    n, m = len(x), len(y)

    def total(a: Any, b: Any) -> Any:
        return sum(np.sum((rows @ b.T / a.shape[1] + 1) ** 3) for rows in np.array_split(a, 1 + len(a) // 64))

    def diagonal(a: Any) -> Any:
        return np.sum((squares(a) / a.shape[1] + 1) ** 3)

    return (total(x, x) - diagonal(x)) / (n * (n - 1)) + (total(y, y) - diagonal(y)) / (m * (m - 1)) - 2 * total(x, y) / (n * m)


def score_of_logits(x: Any) -> Any:
    p = np.exp(x.astype(Long) - x.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return np.exp(entropy(p.mean(axis=0)) - mean(entropy(p, axis=1)))


def perceptual(x: Any, y: Any) -> Any:
    """Channels along the second axis."""
    x, y = long(x, y)
    gap = x / norm(x, axis=1)[:, None] - y / norm(y, axis=1)[:, None]
    return mean(squares(gap, axis=1))


def token_similarity(x: Any, y: Any) -> Any:
    values = []
    for a, b in zip(*long(x, y)):
        c = cosines(a, b)
        precision, recall = c.max(axis=1).mean(), c.max(axis=0).mean()
        values.append(2 * precision * recall / (precision + recall))
    return mean(np.array(values))


def rarity(texts: Any, corpus: Any) -> Any:
    size = int(max(texts.max(), corpus.max())) + 1
    having = np.array([np.count_nonzero((corpus == word).any(axis=1)) for word in range(size)])
    return np.log(Long(len(corpus) + 1) / (having[texts] + 1))


# --- losses of embeddings ---


def distances(x: Any, y: Any) -> Any:
    """In extended precision, by blocks of rows."""
    x, y = long(x, y)
    return np.concatenate([norm(rows[:, None] - y) for rows in np.array_split(x, 1 + len(x) // 64)])


def unit(x: Any) -> Any:
    x = x.astype(Long)
    return x / norm(x)[..., None]


def cosines(x: Any, y: Any) -> Any:
    return unit(x) @ unit(y).T


def sides(labels: Any) -> tuple[Any, Any]:
    """Which pairs are positive, and which are negative."""
    same = labels[:, None] == labels
    return same & ~np.eye(len(labels), dtype=bool), ~same


def contrast(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    d = distances(x, x)
    return (np.sum(d[positive] ** 2) + np.sum(np.maximum(0, 1 - d[negative]) ** 2)) / (len(x) * (len(x) - 1))


def lifted(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    d = distances(x, x)
    s = np.sum(np.where(negative, np.exp(1 - d), 0), axis=1)
    return mean(np.maximum(0, d + np.log(s[:, None] + s))[positive] ** 2) / 2


def nt_xent(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c = cosines(x, x) / Long(0.5)
    s = np.sum(np.where(negative, np.exp(c), 0), axis=1)
    return mean(np.log1p(s[:, None] * np.exp(-c))[positive])


def supervised(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c = cosines(x, x) / Long(0.1)
    total = np.log(np.sum(np.where(positive | negative, np.exp(c), 0), axis=1))
    return mean(np.array([total[i] - c[i, positive[i]].mean() for i in range(len(x)) if positive[i].any()]))


def multi_similarity(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c = cosines(x, x) - Long(0.5)
    near = np.log1p(np.sum(np.where(positive, np.exp(-2 * c), 0), axis=1)) / 2
    far = np.log1p(np.sum(np.where(negative, np.exp(50 * c), 0), axis=1)) / 50
    return mean(near + far)


def circle(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c, m, scale = cosines(x, x), Long(0.4), Long(80)
    far = np.sum(np.where(negative, np.exp(scale * np.maximum(0, c + m) * (c - m)), 0), axis=1)
    near = np.sum(np.where(positive, np.exp(-scale * np.maximum(0, 1 + m - c) * (c - 1 + m)), 0), axis=1)
    return mean(np.log1p(far * near)[positive.any(axis=1) & negative.any(axis=1)])


def own_row(s: Any) -> Any:
    """Cross entropy of rows of similarities of which the diagonal is right."""
    return mean(np.log(np.sum(np.exp(s - np.diag(s)[:, None]), axis=1)))


def triplets(d: Any, labels: Any) -> Any:
    """Distances of an anchor to its positives, and to its negatives, anchor by anchor."""
    positive, negative = sides(labels)
    for a in range(len(d)):
        if positive[a].any():
            yield d[a, positive[a]], d[a, negative[a]]


def triplet(f: Callable[[Any], Any]) -> Callable[..., Any]:
    """f of d(a, p) - d(a, n), the mean of it."""

    def loss(x: Any, labels: Any) -> Any:
        total, count = Long(0), 0
        for near, far in triplets(distances(x, x), labels):
            total += np.sum(f(near[:, None] - far))
            count += near.size * far.size
        return total / count

    return loss


def margins(x: Any, labels: Any) -> Any:
    total, count = Long(0), 0
    for near, far in triplets(distances(unit(x), unit(x)), labels):
        a, b = np.maximum(0, near - Long(1.2) + Long(0.2)), np.maximum(0, Long(1.2) - far + Long(0.2))
        total += far.size * a.sum() + near.size * b.sum()
        count += far.size * np.count_nonzero(a) + near.size * np.count_nonzero(b)
    return total / count


def class_loss(f: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Cross entropy of f(cosines, which of them are the label's, norms of the embeddings)."""

    def loss(x: Any, labels: Any, w: Any) -> Any:
        own = labels[:, None] == np.arange(len(w))
        logits = f(cosines(x, w), own, norm(x.astype(Long))[:, None])
        return mean(np.log(np.sum(np.exp(logits - logits[own][:, None]), axis=1)))

    return loss


def turned(c: Any, own: Any, _: Any) -> Any:
    moved = np.where(np.arccos(c) + Long(0.5) > np.pi, c - Long(0.5) * np.sin(Long(0.5)), np.cos(np.arccos(c) + Long(0.5)))
    return 64 * np.where(own, moved, c)


def four_times(c: Any, own: Any, size: Any) -> Any:
    """cos(4 theta) by its polynomial."""
    k = np.floor(4 * np.arccos(c) / Long(np.pi))
    return size * np.where(own, (1 - 2 * (k % 2)) * (8 * c**4 - 8 * c**2 + 1) - 2 * k, c)


def proxy_anchor(x: Any, labels: Any, w: Any) -> Any:
    own = labels[:, None] == np.arange(len(w))
    c = cosines(x, w)
    near = np.log1p(np.sum(np.where(own, np.exp(-32 * (c - Long(0.1))), 0), axis=0))
    far = np.log1p(np.sum(np.where(own, 0, np.exp(32 * (c + Long(0.1)))), axis=0))
    return near.sum() / np.count_nonzero(own.any(axis=0)) + mean(far)


def places(choose: Callable[[int, int, Any], int]) -> Callable[..., Any]:
    """choose(anchor, positive, negatives) -> a negative, or -1"""

    def table(labels: Any) -> Any:
        positive, negative = sides(labels)
        out = np.full(positive.shape, -1.0)
        for a, p in zip(*np.nonzero(positive)):
            out[a, p] = choose(a, p, np.flatnonzero(negative[a]))
        return out

    return table


def hard(x: Any, labels: Any) -> Any:
    d = distances(x, x)
    return places(lambda a, p, far: far[np.argmin(d[a, far])])(labels)


def semi_hard(x: Any, labels: Any) -> Any:
    d = distances(x, x)

    def choose(a: int, p: int, far: Any) -> int:
        far = far[(d[a, far] > d[a, p]) & (d[a, far] < d[a, p] + 1)]
        return far[np.argmin(d[a, far])] if far.size else -1

    return places(choose)(labels)


def drawn(x: Any, labels: Any, u: Any) -> Any:
    d, dims = distances(unit(x), unit(x)), x.shape[1]
    q = np.maximum(d, 0.5)
    w = np.where(d < Long(1.4), q ** (2 - dims) * np.maximum(0, 1 - q**2 / 4) ** (Long(3 - dims) / 2), 0)

    def choose(a: int, p: int, far: Any) -> int:
        sums = np.cumsum(w[a, far])
        return far[np.searchsorted(sums, u[a, p] * sums[-1], side="right")] if sums.size and sums[-1] > 0 else -1

    return places(choose)(labels)


def chosen_pairs(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c = cosines(x, x)
    farthest = np.where(positive, c, np.inf).min(axis=1)[:, None]
    nearest_other = np.where(negative, c, -np.inf).max(axis=1)[:, None]
    both = positive.any(axis=1) & negative.any(axis=1)
    found = positive & (c - Long(0.1) < nearest_other) | negative & (c + Long(0.1) > farthest)
    return found & both[:, None]


# --- diagrams, histograms, quantiles ---


def diagram(p: Any, t: Any) -> Any:
    n, gap, i = bin_sums(p, t)
    forecast = np.array([np.sum(p[i == k], dtype=Long) for k in range(BINS)])
    return np.stack([forecast / n, (forecast + gap) / n, n], axis=1)


def brier_parts(p: Any, t: Any) -> Any:
    n, gap, i = bin_sums(p, t)
    share, rate = np.array([mean(t[i == k]) for k in range(BINS)]), mean(t)
    parts = [np.sum(gap**2 / n), np.sum(n * (share - rate) ** 2), rate * (1 - rate) * p.size, 0, np.sum((p.astype(Long) - t) ** 2)]
    parts[3] = parts[4] - parts[0] + parts[1] - parts[2]
    return np.array(parts) / p.size


def rates(s: Any, t: Any, g: Any) -> Any:
    out = []
    for k in np.unique(g):
        (tn, fp), (fn, tp) = table((s[g == k] > 0.5).astype(int), t[g == k], 2)
        n = tn + fp + fn + tp
        out.append([n, (tp + fp) / n, (tp + tn) / n, tp / (tp + fn), fp / (fp + tn), tp / (tp + fp)])
    return np.array(out)


def threshold_score(x: Any, y: Any, at: Any) -> Any:
    total = np.zeros(len(y), Long)
    for limit in at:
        share = np.mean(x <= limit, axis=1, dtype=Long)
        total += (share - (y <= limit)) ** 2 - share * (1 - share) / (x.shape[1] - 1)
    return mean(total)


def normal_share(x: Any) -> Any:
    """Of the normal distribution below x, by the continued fraction and the series of Abramowitz and Stegun, 26.2.14 and 26.2.10."""
    x = x.astype(Long)
    a = abs(x)
    density = np.exp(-a * a / 2) / np.sqrt(2 * Long(np.pi))
    tail, total, term = a, a, a
    for k in range(200, 0, -1):
        tail = a + k / np.maximum(tail, Long(1e-300))
    for k in range(1, 120):
        term = term * a * a / (2 * k + 1)
        total = total + term
    below = np.where(a > 4, 1 - density / np.maximum(tail, Long(1e-300)), 0.5 + density * total)
    return np.where(x < 0, 1 - below, below)


def transform_counts(m: Any, v: Any, t: Any) -> Any:
    share = normal_share((t.astype(Long) - m) / np.sqrt(v.astype(Long)))
    return np.bincount(np.minimum((share * 10).astype(int), 9), minlength=10)


def conformations(x: Any, centred: bool) -> Any:
    x = x.astype(Long)
    x = x - x.mean(axis=1, keepdims=True) if centred else x
    return distances(x.reshape(len(x), -1), x.reshape(len(x), -1)) / np.sqrt(Long(x.shape[1]))


def correlogram(x: Any) -> Any:
    d = x.astype(Long) - x.astype(Long).mean(axis=1, keepdims=True)
    n = d.shape[1]
    return np.array([np.mean(d[:, : n - k] * d[:, k:]) for k in range(n)]) / np.mean(d * d)


def middle(x: Any) -> Any:
    x = np.sort(x).astype(Long)
    return (x[(x.size - 1) // 2] + x[x.size // 2]) / 2


def plausible(lengths: Any, angles: Any) -> Any:
    good = np.count_nonzero((lengths >= 0.8) & (lengths <= 2)) + np.count_nonzero((angles >= 1.5) & (angles <= 3.5))
    return Long(good) / (lengths.size + angles.size)


def chi_squared(d: Any) -> Any:
    """By bisection of the series of the incomplete gamma function."""
    from math import lgamma

    a = d.astype(Long) / 2
    scale = np.array([lgamma(v + 1) for v in a.astype(float)], Long)

    def below(x: Any) -> Any:
        term = total = np.ones_like(x)
        for k in range(1, 100):
            term = term * x / (a + k)
            total = total + term
        return np.exp(a * np.log(x) - x - scale) * total

    ends = []
    for share in ((1 - Long(0.99)) / 2, (1 + Long(0.99)) / 2):
        low, high = np.full(a.size, Long(-60)), np.full(a.size, np.log(Long(40)))
        for _ in range(70):
            at = (low + high) / 2
            more = below(np.exp(at)) < share
            low, high = np.where(more, at, low), np.where(more, high, at)
        ends.append(2 * np.exp((low + high) / 2))
    return np.stack(ends, axis=1)


ORACLE: dict[str, Callable[..., Any]] = {
    "mse": error(lambda p, t: (p - t) ** 2),
    "mae": error(lambda p, t: abs(p - t)),
    "rmse": lambda p, t: np.sqrt(mean((p.astype(Long) - t) ** 2)),
    "r_squared": r_squared,
    "mape": error(lambda p, t: abs(p - t) / np.maximum(abs(t), 2.0**-52)),
    "relative_error": lambda p, t: norm(p.astype(Long) - t) / norm(t.astype(Long)),
    "relative_l2_error": rows(lambda p, t: norm(p - t) / norm(t)),
    "explained_variance": explained,
    "max_error": lambda p, t: abs(p - t).max(),
    "huber_loss": error(lambda p, t: np.where(abs(p - t) <= 1, (p - t) ** 2 / 2, abs(p - t) - 0.5)),
    "charbonnier_loss": error(lambda p, t: np.sqrt((p - t) ** 2 + Long(1e-3) ** 2)),
    "quantile_loss": error(lambda p, t: abs(p - t) / 2),
    "log_cosh_loss": log_cosh,
    "smape": error(lambda p, t: 2 * abs(p - t) / (abs(p) + abs(t))),
    "spectral_convergence": convergence,
    "mel_cepstral_distortion": distortion,
    "signal_to_noise_ratio": lambda s, n: 10 * np.log10(squares(s.astype(Long)) / squares(n.astype(Long))),
    "brier_score": error(lambda p, t: (p - t) ** 2),
    "expected_calibration_error": lambda p, t: np.sum(abs(bin_sums(p, t)[1])) / p.size,
    "maximum_calibration_error": lambda p, t: np.max(abs(bin_sums(p, t)[1]) / bin_sums(p, t)[0]),
    "adaptive_calibration_error": adaptive,
    "classwise_ece": classwise,
    "accuracy": lambda p, t: Long(np.count_nonzero(p == t)) / t.size,
    "precision": binary(lambda tp, fp, fn, tn: tp / (tp + fp)),
    "recall": binary(lambda tp, fp, fn, tn: tp / (tp + fn)),
    "f1_score": binary(lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn)),
    "fbeta_score": binary(lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn)),
    "roc_auc": auc,
    "average_precision": precision_sum,
    "log_loss": log_loss,
    "matthews_corrcoef": matthews,
    "cohen_kappa": kappa,
    "balanced_accuracy": balanced,
    "specificity": binary(lambda tp, fp, fn, tn: tn / (tn + fp)),
    "sensitivity": binary(lambda tp, fp, fn, tn: tp / (tp + fn)),
    "softmax_cross_entropy": softmax_loss,
    "confusion_matrix": table,
    "adjusted_rand_index": rand,
    "normalized_mutual_information_clustering": normalized,
    "adjusted_mutual_information": adjusted,
    "v_measure": normalized,
    "silhouette_score": silhouette,
    "calinski_harabasz_score": calinski,
    "davies_bouldin_score": davies,
    "cosine_distance": rows(lambda x, y: 1 - np.sum(x * y, axis=1) / (norm(x) * norm(y))),
    "euclidean_distance": rows(lambda x, y: norm(x - y)),
    "manhattan_distance": rows(lambda x, y: np.sum(abs(x - y), axis=1)),
    "chebyshev_distance": lambda x, y: abs(x - y).max(),
    "minkowski_distance": lambda x, y: norm(x.astype(Long) - y),
    "mahalanobis_distance": rows(lambda x, y, p: np.sqrt(np.sum((x - y) @ p * (x - y), axis=1))),
    "hamming_distance": lambda x, y: Long(np.count_nonzero(x != y)) / x.size,
    "jaccard_distance": lambda x, y: 1 - Long(np.count_nonzero(x & y)) / np.count_nonzero(x | y),
    "poincare_distance": rows(poincare),
    "lorentz_distance": rows(hyperbolic),
    "randers_distance": rows(lambda x, y: norm(y - x) + (y - x)[:, 0] / 2),
    "kl_divergence": relative_entropy,
    "reverse_kl_divergence": lambda p, q: relative_entropy(q, p),
    "js_divergence": lambda p, q: (relative_entropy(p, (p.astype(Long) + q) / 2) + relative_entropy(q, (p.astype(Long) + q) / 2)) / 2,
    "total_variation": lambda p, q: np.sum(abs(p.astype(Long) - q)) / 2,
    "hellinger_distance": lambda p, q: norm(np.sqrt(p.astype(Long)) - np.sqrt(q.astype(Long))) / np.sqrt(Long(2)),
    "chi_squared_divergence": lambda p, q: np.sum((p.astype(Long) - q) ** 2 / q),
    "renyi_divergence": lambda p, q: -2 * np.log(np.sum(np.sqrt(p.astype(Long) * q))),
    "wasserstein_1d": unequal_gap,
    "kolmogorov_smirnov_distance": gap_of_steps,
    "mmd": lambda x, y: np.sqrt(mmd_squared(x, y)),
    "mmd_squared_unbiased": mmd_unbiased,
    "sinkhorn_divergence": sinkhorn,
    "sliced_wasserstein": sliced,
    "demographic_parity_ratio": selection,
    "disparate_impact_ratio": selection,
    "equal_opportunity_difference": lambda s, t, g: spread(s, t, g, 1),
    "equalized_odds_difference": lambda s, t, g: max(spread(s, t, g, 0), spread(s, t, g, 1)),
    "crps": crps,
    "fair_crps": lambda x, y: crps(x, y, 1),
    "energy_score": energy,
    "spread_skill_ratio": spread_skill,
    "ranked_probability_score": ranked,
    "event_reliability": reliability,
    "frechet_feature_distance": frechet,
    "inception_score": lambda p: mean(inception_parts(p)),
    "correlation_preservation": correlations,
    "manifold_precision": lambda x, y: mean(covering(x, y, K) > 0),
    "manifold_recall": lambda x, y: mean(covering(y, x, K) > 0),
    "density_weighted_precision": lambda x, y: mean(covering(x, y, DENSITY_K)) / DENSITY_K,
    "density_weighted_recall": lambda x, y: mean(covering(y, x, DENSITY_K)) / DENSITY_K,
    "manifold_radii": lambda x: np.sqrt(kth(x, x, K)),
    "distance_to_closest_record": closest,
    "memorization_rate": lambda x, y: len({r.tobytes() for r in x} & {r.tobytes() for r in y}) / len(y),
    "chamfer_distance": lambda x, y: (mean(nearest(x, y)) + mean(nearest(y, x))) / 2,
    "directed_hausdorff": lambda x, y: nearest(x, y).max(),
    "hausdorff_distance": lambda x, y: max(nearest(x, y).max(), nearest(y, x).max()),
    "earth_movers_distance_1d": unequal_gap,
    "rmsd": lambda x, y: np.sqrt(mean(squares((x - y).astype(Long) - (x - y).astype(Long).mean(axis=0)))),
    "kabsch_rmsd": kabsch,
    "spectral_distance": lambda a, b: norm(np.linalg.eigvalsh(laplacian(a)) - np.linalg.eigvalsh(laplacian(b))),
    "graph_edit_distance_approx": edit_bound,
    "resistance_distance": resistance,
    "shortest_path_distance": paths,
    "psnr": lambda x, y: -10 * np.log10(mean((x.astype(Long) - y) ** 2)),
    "ssim": lambda x, y: similarity(x, y)[1],
    "ms_ssim": scales,
    "vendi_score": vendi,
    "entropy": entropy,
    "cross_entropy": lambda p, q: -np.sum(p.astype(Long) * np.log(q.astype(Long))),
    "mutual_information": lambda j: mutual(j.astype(Long)),
    "conditional_entropy": lambda j: entropy(j) - entropy(j.astype(Long).sum(axis=1)),
    "normalized_mutual_information": lambda j: mutual(j.astype(Long)) / np.sqrt(entropy(j.astype(Long).sum(axis=0)) * entropy(j.astype(Long).sum(axis=1))),
    "spd_affine_invariant_distance": affine,
    "spd_log_euclidean_distance": lambda a, b: norm((logarithm(a) - logarithm(b)).ravel()),
    "grassmann_distance": angles,
    "stiefel_distance": lambda u, v: norm((u.astype(Long) - v).ravel()),
    "ultrahyperbolic_distance": rows(hyperbolic),
    "ndcg": lambda s, t: gain(s, t, t.size),
    "ndcg_at_k": lambda s, t: gain(s, t, TOP),
    "mean_average_precision": precision_sum,
    "precision_at_k": lambda s, t: mean(t[np.argsort(-s)[:TOP]]),
    "recall_at_k": lambda s, t: Long(t[np.argsort(-s)[:TOP]].sum()) / t.sum(),
    "hit_rate": lambda s, t: float(t[np.argsort(-s)[:TOP]].any()),
    "mean_reciprocal_rank": lambda s, t: 1 / (1 + np.argmax(t[np.argsort(-s)])),
    "coverage": lambda items: np.unique(items).size / (items.max() + 1),
    "iou": binary(lambda tp, fp, fn, tn: tp / (tp + fp + fn)),
    "dice_coefficient": binary(lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn)),
    "pixel_accuracy": lambda p, t: Long(np.count_nonzero(p == t)) / t.size,
    "pearson_correlation": pearson,
    "spearman_rank_correlation": lambda x, y: pearson(ranks(x), ranks(y)),
    "kendall_tau": kendall,
    "concordance_correlation": concordance,
    "r_squared_adjusted": lambda p, t: 1 - (1 - r_squared(p, t)) * (t.size - 1) / (t.size - 2),
    "skewness": skewness,
    "bleu": bleu,
    "rouge_n": lambda c, r: Long(shared(grams(c, 1), grams(r, 1))) / r.size,
    "rouge_l": common,
    "perplexity": lambda x: np.exp(-mean(x)),
    "distinct_n": lambda t: Long(len(set(t.tolist()))) / t.size,
    "picp": lambda low, high, t: Long(np.count_nonzero((low <= t) & (t <= high))) / t.size,
    "mpiw": lambda low, high: mean(high.astype(Long) - low),
    "interval_score": lambda low, high, t: mean(high.astype(Long) - low + 20 * (np.maximum(low.astype(Long) - t, 0) + np.maximum(t.astype(Long) - high, 0))),
    "gaussian_nll": gaussian,
    "regression_calibration_error": levels,
    "anees": lambda m, p, t: mean(normalized_errors(m, p, t)) / m.shape[1],
    "non_credibility_index": lambda m, p, t, r: 10 * mean(np.log10(normalized_errors(m, p, t) / normalized_errors(m, r, t))),
    "predictive_entropy": lambda p: mean(entropy(p.astype(Long).mean(axis=1), axis=1)),
    "ensemble_mutual_information": lambda p: mean(entropy(p.astype(Long).mean(axis=1), axis=1) - entropy(p, axis=2).mean(axis=1)),
    "reliability_diagram_bins": diagram,
    "brier_decomposition": brier_parts,
    "f_divergence": relative_entropy,
    "bregman_divergence": lambda x, y: np.sum(x.astype(Long) * (np.log(x.astype(Long)) - np.log(y.astype(Long))) - x + y),
    "group_metric_breakdown": rates,
    "rank_histogram": lambda x, y: np.bincount(np.sum(x < y[:, None], axis=1), minlength=x.shape[1] + 1),
    "ensemble_ranked_probability_score": threshold_score,
    "ranked_probability_skill_score": lambda x, y: (y.astype(Long) - x) / y,
    "pit_histogram": transform_counts,
    "inception_score_per_split": inception_parts,
    "pairwise_rmsd": lambda x: conformations(x, True),
    "fisher_information_matrix": lambda x: 1 + np.diag(np.cosh(x.astype(Long))),
    "autocorrelation": correlogram,
    "fid": frechet,
    "kid": polynomial_gap,
    "image_inception_score": score_of_logits,
    "lpips": perceptual,
    "bert_score": token_similarity,
    "inverse_document_frequency": rarity,
    "contrastive_loss": contrast,
    "lifted_structure_loss": lifted,
    "nt_xent_loss": nt_xent,
    "supervised_contrastive_loss": supervised,
    "multi_similarity_loss": multi_similarity,
    "circle_loss": circle,
    "n_pairs_loss": lambda x, y: own_row(x.astype(Long) @ y.astype(Long).T),
    "info_nce_loss": lambda x, y: own_row(cosines(x, y) / Long(0.07)),
    "triplet_margin_loss": triplet(lambda gap: np.maximum(0, gap + Long(0.2))),
    "triplet_soft_margin_loss": triplet(lambda gap: np.log1p(np.exp(gap))),
    "margin_based_loss": margins,
    "normalized_softmax_loss": class_loss(lambda c, own, size: c / Long(0.05)),
    "arcface_loss": class_loss(turned),
    "cosface_loss": class_loss(lambda c, own, size: 64 * (c - Long(0.35) * own)),
    "sphereface_loss": class_loss(four_times),
    "proxy_nca_loss": class_loss(lambda c, own, size: 2 * c - 2),
    "proxy_anchor_loss": proxy_anchor,
    "center_loss": lambda x, labels, w: mean(squares(x.astype(Long) - w[labels])) / 2,
    "mine_hard_negatives": hard,
    "mine_semi_hard_negatives": semi_hard,
    "mine_distance_weighted_negatives": drawn,
    "mine_multi_similarity_pairs": chosen_pairs,
    "chemical_validity": plausible,
    "binding_affinity_metrics": lambda p, t: np.array([mean((p.astype(Long) - t) ** 2), mean(abs(p.astype(Long) - t)), r_squared(p, t), pearson(p, t)]),
    "conformational_diversity": lambda x: np.sum(conformations(x, False)) / (len(x) * (len(x) - 1)),
    "quantile": middle,
    "streaming_quantile": middle,
    "streaming_roc_auc": auc,
    "streaming_average_precision": precision_sum,
    "chi2_confidence_interval": chi_squared,
}

_OTHERS = {
    0.0: (
        "max_error confusion_matrix chebyshev_distance memorization_rate shortest_path_distance hit_rate mean_reciprocal_rank "
        "coverage"
        " rank_histogram pit_histogram mine_hard_negatives mine_semi_hard_negatives mine_distance_weighted_negatives mine_multi_similarity_pairs quantile"
    ),
    1e-15: (
        "accuracy precision recall f1_score fbeta_score specificity sensitivity hamming_distance jaccard_distance "
        "manifold_precision manifold_recall precision_at_k recall_at_k iou dice_coefficient pixel_accuracy distinct_n picp"
        " chemical_validity"
    ),
    1e-13: (
        "matthews_corrcoef cohen_kappa balanced_accuracy demographic_parity_ratio disparate_impact_ratio "
        "density_weighted_precision density_weighted_recall"
    ),
    1e-11: (
        "poincare_distance kl_divergence reverse_kl_divergence js_divergence chi_squared_divergence wasserstein_1d "
        "equal_opportunity_difference equalized_odds_difference spread_skill_ratio earth_movers_distance_1d "
        "regression_calibration_error anees ensemble_mutual_information"
        " reliability_diagram_bins ensemble_ranked_probability_score f_divergence bregman_divergence pairwise_rmsd inverse_document_frequency"
    ),
    1e-10: (
        "mel_cepstral_distortion expected_calibration_error maximum_calibration_error adaptive_calibration_error classwise_ece "
        "adjusted_mutual_information silhouette_score calinski_harabasz_score davies_bouldin_score lorentz_distance "
        "renyi_divergence kolmogorov_smirnov_distance mmd mmd_squared_unbiased manifold_radii distance_to_closest_record "
        "kabsch_rmsd ssim mutual_information conditional_entropy normalized_mutual_information grassmann_distance skewness "
        "non_credibility_index"
        " brier_decomposition autocorrelation lpips"
    ),
    1e-9: (
        "event_reliability spectral_distance graph_edit_distance_approx ms_ssim vendi_score spd_affine_invariant_distance "
        "spd_log_euclidean_distance"
    ),
    1e-8: (
        "resistance_distance ultrahyperbolic_distance ranked_probability_skill_score kid"
    ),
    1e-7: (
        "frechet_feature_distance fid"
    ),
    1e-3: (
        "sinkhorn_divergence"
    ),
    1e-2: (
        "streaming_quantile streaming_roc_auc streaming_average_precision"
    ),
    0.1: (
        "sliced_wasserstein"
    ),
}
TOLERANCE = {name: tolerance for tolerance, names in _OTHERS.items() for name in names.split()}
