/**
 * Which commit made it slower: a search under noise, without git.
 *
 * The candidates are the commits that can be reached from the bad end and not from the good one.
 * The answer h is the first bad one: commit c is bad exactly if h is c or an ancestor of c, so
 * merged histories need nothing more.  The values of good commits have one mean, those of bad ones
 * another, all have one spread (of log values, if every value is > 0); nothing of this is known
 * before.  With a flat prior on both means and 1/sigma on the spread, the probability of h given n
 * values, n_g of which fall on good commits and n_b on bad ones, is
 *     P(h) ~ (n_g n_b)^(-1/2) S_h^(-(n-2)/2),    S_h: squares about the two group means
 * (Zellner, An Introduction to Bayesian Inference in Econometrics, 1971, ch. 3).  Both ends are
 * measured first, in turn, until the Bayes factor of the two-sample t test (Goenen et al., Am.
 * Stat. 59 (2005) 252-257, effect size ~ N(0, 1)) shows that they differ, or that they do not;
 * checking after every value is allowed (Hendriksen, de Heide & Gruenwald, Bayesian Anal. 16 (2021)
 * 961).  They are also abandoned once the launches still allowed for them have a probability below
 * 1 % to distinguish them: that can only make false alarms rarer.
 * Then each step measures the commit whose next value has the most information about h: the mutual
 * information of "c is bad" and a value, for a launch's cost, or a build's and a launch's where
 * nothing was built yet.  The search ends when one commit, or one set of commits that no measurable
 * commit distinguishes, has the requested probability, and has kept it over two more values.
 *
 * Nothing here is random: the same observations in the same order give the same steps.  One thread
 * uses a search at a time.  Objects take their memory from the ctx's allocator, which must outlive
 * them; err may be NULL everywhere.  Since 0.1.
 */
#ifndef CALIBRAX_CI_BISECT_H
#define CALIBRAX_CI_BISECT_H

#include "calibrax/base/json.h"

CBX_BEGIN_DECLS

/** More candidates are refused: what is kept for each pair of them, one bit, would exceed 50 MB. */
#define CBX_BISECT_MAX_COMMITS 20000
/** The good end, in the place of a candidate's number. */
#define CBX_BISECT_GOOD_END ((size_t)-1)

/** Candidates, parents before children; the last one is the bad end.  Lent to cbx_bisect_create,
 * which copies. */
typedef struct cbx_bisect_graph {
    size_t ncommits;          /* 1..CBX_BISECT_MAX_COMMITS */
    const char *good;         /* name of the good end */
    const char *const *names; /* ncommits, all different; of git: full hashes */
    const size_t
        *first; /* ncommits + 1: the parents of i are parents[first[i]] to parents[first[i + 1] - 1]; NULL: a line */
    const size_t *parents; /* numbers of candidates, each below the child's; those on the good side are left out */
} cbx_bisect_graph;

typedef struct cbx_bisect_opts {
    uint32_t struct_size;
    double confidence;     /* at which to stop; 0: 0.95; else in (0.5, 1) */
    size_t end_launches;   /* maximum launches of each end to decide whether they differ; 0: 60; at least 5.  Fewer are
                              used where more could not decide */
    size_t max_launches;   /* of the whole search; 0: 1000 */
    double build_launches; /* what a build costs, in launches; 0 where it costs nothing */
    bool higher_is_better; /* the value is a rate, not a cost */
    bool any_change;       /* search for an improvement, too */
    const char *identity;  /* kept in the state: a state of another identity is refused; NULL: none */
} cbx_bisect_opts;

#define CBX_BISECT_OPTS_INIT CBX_OPTS(cbx_bisect_opts, 0, 0, 0, 0, 0, 0, 0)

typedef enum cbx_bisect_outcome {
    CBX_BISECT_RUNNING,   /* cbx_bisect_next returns what to measure */
    CBX_BISECT_FOUND,     /* one suspect, or several that only broken commits could distinguish */
    CBX_BISECT_UNCHANGED, /* the ends do not differ, as far as end_launches can show: there is nothing to find */
    CBX_BISECT_SWAPPED,   /* the bad end is better than the good one */
    CBX_BISECT_UNDECIDED, /* max_launches, or end_launches, are used up, or would be without distinguishing the ends; suspects are the
                             likeliest that make up the confidence */
    CBX_BISECT_BROKEN_END /* the good end or the bad one cannot be measured */
} cbx_bisect_outcome;

/** "running", "found", "unchanged", "swapped", "undecided", "broken-end" */
CBX_API const char *cbx_bisect_outcome_name(cbx_bisect_outcome outcome);

typedef struct cbx_bisect_result {
    cbx_bisect_outcome outcome;
    const size_t *suspects; /* candidates, parents before children; lives until the search is next changed or freed */
    size_t nsuspects;
    size_t likeliest;   /* of the suspects */
    double probability; /* that the first bad commit is among the suspects; NaN without suspects */
    double
        change; /* bad over good, less 1 (by ratio of geometric means); a difference of means where a value is <= 0 */
    double change_error; /* its standard error */
    double noise;        /* spread of one value, in the same terms */
    double odds;         /* Bayes factor of "the ends differ" against "they do not", from the ends alone */
    bool relative;       /* change, change_error and noise are relative */
    size_t launches, end_launches, broken;
} cbx_bisect_result;

typedef struct cbx_bisect cbx_bisect;

/**
 * @param opts  NULL: all defaults
 * @return CBX_OK; CBX_EINVAL (no commits, a parent that is not before its child, a name twice or
 *         missing, an option out of range); CBX_EOVERFLOW (too many commits); CBX_ENOMEM
 */
CBX_API cbx_status cbx_bisect_create(cbx_ctx *ctx, const cbx_bisect_graph *graph, const cbx_bisect_opts *opts,
                                     cbx_bisect **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_bisect_free(cbx_bisect *b);

/**
 * What to measure next: a candidate's number or CBX_BISECT_GOOD_END.
 * @param commit  written only if the outcome is CBX_BISECT_RUNNING
 * @return the outcome so far
 */
CBX_API cbx_bisect_outcome cbx_bisect_next(cbx_bisect *b, size_t *commit);
/** What a build costs from now on, in launches; >= 0. */
CBX_API void cbx_bisect_set_build_cost(cbx_bisect *b, double launches);
/**
 * One launch's value, of any commit, asked for or not.
 * @return CBX_OK; CBX_EDOM (not finite); CBX_EINVAL (no such commit, or one said to be broken);
 *   CBX_ENOMEM
 */
CBX_API cbx_status cbx_bisect_observe(cbx_bisect *b, size_t commit, double value, cbx_err *err);
/**
 * The commit cannot be built or run: it is not asked for again; values that it gave are left out.
 * @param reason  copied; NULL: none
 */
CBX_API cbx_status cbx_bisect_broken(cbx_bisect *b, size_t commit, const char *reason, cbx_err *err);
/** Where the search stands; complete at any time. */
CBX_API void cbx_bisect_read(cbx_bisect *b, cbx_bisect_result *out);

CBX_API size_t cbx_bisect_count(const cbx_bisect *b);
/** Name of a candidate, or of the good end. */
CBX_API const char *cbx_bisect_name(const cbx_bisect *b, size_t commit);
/** Number of a name; false: none has it. */
CBX_API bool cbx_bisect_find(const cbx_bisect *b, const char *name, size_t *commit);
/** Probability that a candidate is the first bad commit; NaN before both ends have a value. */
CBX_API double cbx_bisect_probability(cbx_bisect *b, size_t commit);
/** Values seen at a commit. */
CBX_API size_t cbx_bisect_launches_at(const cbx_bisect *b, size_t commit);
/** Why a commit is broken; NULL: it is not. */
CBX_API const char *cbx_bisect_reason(const cbx_bisect *b, size_t commit);

/**
 * All that was seen:
 * {"schema":"calibrax-bisect","version":1,"identity","good","bad","candidates","observations":[["name",value],...],
 * "broken":[["name","reason"],...]}.  NULL: out of memory.
 */
CBX_API cbx_json *cbx_bisect_state(const cbx_bisect *b);
/**
 * Takes in a state of the same ends and identity.
 * @param what  names the source in messages
 * @return CBX_OK; CBX_EFORMAT; CBX_EVERSION; CBX_EINVAL: of another search; CBX_ENOMEM; on failure
 *   b may hold a part: free it
 */
CBX_API cbx_status cbx_bisect_restore(cbx_bisect *b, const cbx_json *state, const char *what, cbx_err *err);

CBX_END_DECLS
#endif
