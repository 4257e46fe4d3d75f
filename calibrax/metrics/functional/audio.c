/* Signals: spectra of frames, mel cepstra, ratios of power. */
#include "calibrax/array/fft.h"
#include "calibrax/metrics/internal.h"

/* The first parameters of metrics of frames. */
enum { FFT_SIZE, HOP_LENGTH, SAMPLE_RATE, NUM_MELS, NUM_COEFFICIENTS, TOP_DB };

/* ---- spectra ---- */

/* Frames of the signal with zeros on both sides, so that frame t is centred at sample t hop_length:
 * (frames, fft_size). */
static cbx_array *frames(cbx_ctx *ctx, const cbx_array *x, size_t size, size_t hop)
{
    const size_t pad = size / 2, n = cbx_array_dim(x, 0) / hop + 1;
    const size_t after = (n - 1) * hop + size > pad + cbx_array_dim(x, 0)
                             ? (n - 1) * hop + size - pad - cbx_array_dim(x, 0)
                             : 0;
    const cbx_array *padded = cbx_pad(ctx, x, &pad, &after, cbx_float(0));
    const cbx_array *begin = cbx_arange_int(ctx, 0, (int64_t)(n * hop), (int64_t)hop, CBX_I64);
    const cbx_array *within = cbx_arange_int(ctx, 0, (int64_t)size, 1, CBX_I64);

    return cbx_take(ctx, padded, cbx_add(ctx, cbx_expand_dims(ctx, begin, 1), cbx_expand_dims(ctx, within, 0)), 0);
}

/* |X|^2 of each frame under a periodic Hann window: (frames, fft_size / 2 + 1). */
static cbx_array *power(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x)
{
    const size_t size = (size_t)c->parameters[FFT_SIZE];
    const cbx_array *phase = cbx_multiply_scalar(ctx, cbx_arange(ctx, 0, (double)size, 1, CBX_F64),
                                                 2 * M_PI / (double)size);
    const cbx_array *window = cbx_multiply_scalar(ctx, cbx_subtract(ctx, cbx__number(ctx, 1), cbx_cos(ctx, phase)),
                                                  0.5);
    const cbx_array *f = cbx_multiply(ctx, frames(ctx, x, size, (size_t)c->parameters[HOP_LENGTH]), window);
    const cbx_array *z = cbx_rfft(ctx, f, 0, -1, CBX_FFT_BACKWARD);

    return cbx_add(ctx, cbx_square(ctx, cbx_real(ctx, z)), cbx_square(ctx, cbx_imag(ctx, z)));
}

CBX__OF_CALL(convergence_parts)
{
    const cbx_array *p = cbx__root(ctx, power(ctx, c, c->in[0])), *squares = power(ctx, c, c->in[1]);
    const cbx_array *parts[] = {
        cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, cbx__root(ctx, squares), p)), NULL),
        cbx_sum(ctx, squares, NULL),
    };

    return cbx__pack(ctx, 2, parts);
}

/* 0 / 0 is 0: nothing, and right. */
CBX__OF_STATE(convergence, state)
{
    const cbx_array *one = cbx__number(ctx, 1), *nothing;

    CBX__PARTS(s, 2, ctx, state);
    nothing = cbx_logical_and(ctx, cbx_equal_scalar(ctx, s[0], 0), cbx_equal_scalar(ctx, s[1], 0));
    return cbx__root(ctx, cbx_divide(ctx, s[0], cbx_where(ctx, nothing, one, s[1])));
}

/* ---- mel cepstra ---- */

/* Slaney (1998): linear below 1000 Hz, logarithmic above. */
static double hz_of_mel(double mel) { return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27); }

static double mel_of_hz(double hz) { return hz < 1000 ? hz * 3 / 200 : 15 + 27 * log(hz / 1000) / log(6.4); }

/* Triangles of area 1 between 0 and half the sample rate, one a column: (fft_size / 2 + 1,
 * num_mels). */
CBX__OF_CALL(mel_filters)
{
    const size_t bins = (size_t)c->parameters[FFT_SIZE] / 2 + 1, mels = (size_t)c->parameters[NUM_MELS];
    const double rate = c->parameters[SAMPLE_RATE], step = mel_of_hz(rate / 2) / (double)(mels + 1);
    cbx_array *out = cbx__fresh(ctx, &(cbx_array_desc){ CBX_F64, 2, { bins, mels } });

    for (size_t m = 0; !cbx_array_is_failed(out) && m < mels; m++) {
        const double low = hz_of_mel(step * (double)m), centre = hz_of_mel(step * (double)(m + 1));
        const double high = hz_of_mel(step * (double)(m + 2));
        double *w = cbx_array_data_mut(out);
        for (size_t k = 0; k < bins; k++) {
            const double hz = rate * (double)k / c->parameters[FFT_SIZE];
            const double up = (hz - low) / (centre - low), down = (high - hz) / (high - centre);
            w[k * mels + m] = fmax(0, fmin(up, down)) * 2 / (high - low);
        }
    }
    return out;
}

/* Coefficients 1 to num_coefficients of log power in mel bands, floored top_db below the largest:
 * (frames, coefficients). */
static cbx_array *cepstra(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x, const cbx_array *filters)
{
    const double mels = c->parameters[NUM_MELS], count = c->parameters[NUM_COEFFICIENTS];
    const cbx_array *bands = cbx_matrix_product(ctx, power(ctx, c, x), filters);
    const cbx_array *largest = cbx_max(ctx, bands, NULL), *silent = cbx_equal_scalar(ctx, largest, 0);
    const cbx_array *floor = cbx_multiply_scalar(ctx, largest, pow(10, -c->parameters[TOP_DB] / 10));
    const cbx_array *one = cbx__number(ctx, 1);
    const cbx_array *log_power = cbx_log(ctx, cbx_where(ctx, silent, one, cbx_maximum(ctx, bands, floor)));
    const cbx_array *middle = cbx_add_scalar(ctx, cbx_arange(ctx, 0, mels, 1, CBX_F64), 0.5);
    const cbx_array *number = cbx_arange(ctx, 1, count + 1, 1, CBX_F64);
    const cbx_array *waves = cbx_cos(ctx, cbx_multiply_scalar(ctx, cbx_outer(ctx, middle, number), M_PI / mels));

    return cbx_multiply_scalar(ctx, cbx_matrix_product(ctx, log_power, waves), 1 / mels);
}

CBX__OF_CALL(mel_distortion)
{
    const cbx_array *filters, *d;

    if (c->parameters[NUM_COEFFICIENTS] >= c->parameters[NUM_MELS])
        return cbx__metric_refuse(ctx, c, CBX_EINVAL, "'num_coefficients' is %g: it must be below 'num_mels', %g",
                                  c->parameters[NUM_COEFFICIENTS], c->parameters[NUM_MELS]);
    filters = mel_filters(ctx, c);
    d = cbx_subtract(ctx, cepstra(ctx, c, c->in[0], filters), cepstra(ctx, c, c->in[1], filters));
    d = cbx_multiply_scalar(ctx, cbx_sum(ctx, cbx_square(ctx, d), CBX_AXIS(-1)), 2);
    return cbx_multiply_scalar(ctx, cbx__root(ctx, d), 10 / M_LN10);
}

/* ---- power ---- */

CBX__OF_CALL(power_parts)
{
    const cbx_array *parts[] = { cbx_sum(ctx, cbx_square(ctx, c->in[0]), NULL),
                                 cbx_sum(ctx, cbx_square(ctx, c->in[1]), NULL) };
    return cbx__pack(ctx, 2, parts);
}

CBX__OF_STATE(decibels, state)
{
    CBX__PARTS(s, 2, ctx, state);
    return cbx_multiply_scalar(ctx, cbx_log10(ctx, cbx_divide(ctx, s[0], s[1])), 10);
}

#define AUDIO .domain = "audio", .flags = CBX_METRIC_DIFFERENTIABLE
#define FRAME_ROWS                                                                                                     \
    CBX__INTEGER("fft_size", "samples in a frame", 1024, 2, 0x1p24),                                                   \
        CBX__INTEGER("hop_length", "samples from one frame to the next", 256, 1, 0x1p24)

/* clang-format off */
CBX__METRIC_TABLE(audio,
    { .name = "spectral_convergence", .summary = "Spectral convergence", .formula = "|| |STFT(targets)| - |STFT(predictions)| || / || |STFT(targets)| ||", AUDIO,
      .operands = CBX__PAIR("predictions", "targets", SIGNAL), .parameters = { FRAME_ROWS }, .direction = CBX_DIRECTION_LOWER, .low = 0, .high = INFINITY,
      .axioms = CBX_AXIOM_IDENTITY, .invariances = CBX_INVARIANT_COMMON_SCALE, .parts = convergence_parts, .finish = convergence,
      .notes = "Norms of magnitudes over all frames: phases do not count. Periodic Hann windows, frames centred, zeros beyond the ends. Silent targets give 0 where predictions are silent and infinity otherwise.",
      .source = "Sturmel & Daudet (2011); Arik, Jun & Diamos (2019)", .example = "[0.0, 1.0, 0.0, -1.0], [0.0, 0.5, 0.0, -1.0], fft_size=4, hop_length=2" },
    { .name = "mel_cepstral_distortion", .summary = "Mel-cepstral distortion", .formula = "mean over frames of 10 / ln(10) sqrt(2 sum over k >= 1 of (c_k(predictions) - c_k(targets))^2)", AUDIO,
      .operands = CBX__PAIR("predictions", "targets", SIGNAL), .direction = CBX_DIRECTION_LOWER, .low = 0, .high = INFINITY,
      .parameters = { FRAME_ROWS, CBX__REAL("sample_rate", "samples in a second", 22050, 0x1p-1022, 0x1p100),
                      CBX__INTEGER("num_mels", "mel bands between 0 and half the sample rate", 80, 2, 4096),
                      CBX__INTEGER("num_coefficients", "cepstral coefficients, from 1 on", 13, 1, 4095),
                      CBX__REAL("top_db", "power further below the largest counts as so far below", 80, 0x1p-10, 3000) },
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOM_IDENTITY, .invariances = CBX_INVARIANT_SCALE, .items = mel_distortion,
      .notes = "In decibels. c_k: mean over Slaney's mel bands of ln(power) cos(pi k (band + 1/2) / num_mels). c_0, the loudness, is left out. Signals must be aligned in time.",
      .source = "Kubichek (1993); librosa.filters.mel for the bands", .example = "[0.0, 1.0, 0.0, -1.0], [0.0, 0.5, 0.0, -1.0], fft_size=64, hop_length=16, num_mels=20" },
    { .name = "signal_to_noise_ratio", .summary = "Signal-to-noise ratio", .formula = "10 log10(sum(signal^2) / sum(noise^2))", AUDIO,
      .operands = CBX__PAIR("signal", "noise", SIGNAL), .direction = CBX_DIRECTION_HIGHER, .low = -INFINITY, .high = INFINITY,
      .invariances = CBX_INVARIANT_COMMON_SCALE | CBX_INVARIANT_SAMPLE_ORDER, .parts = power_parts, .finish = decibels,
      .notes = "In decibels. Of an estimate the noise is the estimate minus the signal. Without noise it is infinite, of nothing at all NaN.",
      .source = "torchmetrics SignalNoiseRatio, of signal and noise", .example = "[3.0, 4.0], [0.3, 0.4]" },
)
/* clang-format on */
