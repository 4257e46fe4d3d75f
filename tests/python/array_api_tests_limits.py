"""A pytest plugin for array-api-tests: shapes of at most as many axes as the namespace declares ("max dimensions"), which the suite does not read."""

from array_api_tests import hypothesis_helpers as hh
from calibrax_c import array as xp

LIMIT = xp.__array_namespace_info__().capabilities()["max dimensions"]
reshape_shapes = hh.reshape_shapes
hh.reshape_shapes = lambda shape: reshape_shapes(shape).filter(lambda sides: len(sides) <= LIMIT)
