/* Written by scripts/fixtures/make_cost_answers.py from JAX 0.10.2: do not edit. */
static const struct {
    const char *function;
    uint64_t flop, transcendental;
} answers[] = {
    { "triad", 2000, 0 },
    { "product", 196608, 0 },
    { "layer", 8320, 128 },
    { "softmax", 2360, 600 },
    { "norm", 699, 1 },
    { "leaky", 315, 0 },
    { "branches", 1459, 81 },
    { "ten_products", 101308, 0 },
    { "rows_of_products", 126, 0 },
};
