"""What others make of the kernels of kernels.c.  usage: kernels.py NAME TIMES DATA, as there; one call before that counts for nothing."""
import sys

import numpy as np


def scipy_bootstrap(x):
    from scipy import stats

    return lambda: stats.bootstrap((x,), np.mean, n_resamples=10000, method="percentile", vectorized=True)


def calibrax_bootstrap(x):
    import jax
    import jax.numpy as jnp
    from calibrax.statistics import bootstrap_interval

    data, key = jnp.asarray(x), jax.random.key(0)
    return lambda: bootstrap_interval(jnp.mean, data, key=key, num_resamples=10000)


def ruptures_kernel(x):
    import ruptures

    return lambda: ruptures.KernelCPD(kernel="linear", min_size=2).fit(x).predict(pen=20)


def ruptures_default(x):
    import ruptures

    return lambda: ruptures.Pelt(model="l2").fit(x).predict(pen=20)


def ruptures_series(x):
    import ruptures

    rows = x.reshape(-1, 500)
    return lambda: [ruptures.KernelCPD(kernel="linear", min_size=2).fit(row).predict(pen=20) for row in rows]


def main() -> None:
    name, times, data = sys.argv[1], int(sys.argv[2]), np.fromfile(sys.argv[3])
    warm = {"calibrax_bootstrap", "scipy_bootstrap"}  # compiled or imported by the first call; ruptures has nothing to warm up
    call = globals()[name](data)
    if name in warm:
        call()
    for _ in range(times):
        call()


if __name__ == "__main__":
    main()
