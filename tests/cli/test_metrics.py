"""calibrax metrics: the table, and metrics of arrays in files of every kind."""
import json
import os
import zipfile

from harness import BUILD, CALIBRAX, SOURCE, check, equal, main

TABLE = "measured,predicted,label,weight\n3,2.5,1,1\n-0.5,0,0,2\n2,2,1,1\n7,8,0,1\n"


def metrics(p, *args, expect=0):
    return p.run("metrics", *args, program=CALIBRAX, expect=expect)


def the_table(p):
    rows = json.loads(metrics(p, "list", "--json").stdout)["metrics"]
    equal(len({r["name"] for r in rows}), len(rows), "each name occurs once")
    mae = next(r for r in rows if r["name"] == "mae")
    equal((mae["domain"], mae["direction"], mae["operands"][0]["name"], mae["range"]), ("general", "lower", "predictions", [0, "Infinity"]), "mae")
    equal(mae["axioms"], ["symmetric", "identity", "positive", "triangle"], "a metric in the mathematical sense")
    for word in ("metric", "symmetric"):
        some = json.loads(metrics(p, "list", "--axiom", word, "--json").stdout)["metrics"]
        check(0 < len(some) < len(rows), f"fewer with --axiom {word}")
    one = json.loads(metrics(p, "describe", "huber_loss", "--json").stdout)["metric"]
    equal(one["parameters"][0]["default"], 1, "delta")
    check("above 0, default 1" in metrics(p, "describe", "huber_loss").stdout, "bounds and default in words")
    check("(exponential|linear; default exponential)" in metrics(p, "describe", "ndcg").stdout, "the word of a choice")
    check("from C and Python alone. Files hold features." in metrics(p, "describe", "fid").stdout, "what files hold")
    check("--direction WHICH" in metrics(p, "list", "--help").stdout.split("\n\n")[0], "the synopsis has all conditions")
    check("tier         frozen_backbone" in metrics(p, "describe", "fid").stdout, "its tier")


def values(p):
    table = p.write("t.csv", TABLE)
    columns = [f"{table}:predicted", f"{table}:measured"]
    equal(metrics(p, "compute", "mse", *columns).stdout, "0.375\n", "a number")
    document = json.loads(metrics(p, "compute", "mae", *columns, "--weights", f"{table}:weight", "--ci", "--json").stdout)
    equal(document["value"], 0.5, "weighted")
    check(document["interval"]["lower"] <= 0.5 <= document["interval"]["upper"], "within its interval")
    equal(metrics(p, "compute", "huber_loss", *columns, "-s", "delta=0.1").stdout, "0.04625\n", "with a parameter")
    equal(metrics(p, "compute", "mse", f"{table}:2", f"{table}:1", "--mask", f"{table}:label").stdout, "0.125\n", "columns by number, masked")
    embeddings, labels = p.write("x.csv", "a,b\n0,0\n0,1\n3,0\n"), p.write("y.csv", "label\n0\n0\n1\n")
    equal(json.loads(metrics(p, "compute", "mine_hard_negatives", embeddings, f"{labels}:1", "--json").stdout)["value"], [-1, 2, -1, 2, -1, -1, -1, -1, -1], "places of items")
    check(abs(float(metrics(p, "compute", "fid", embeddings, embeddings).stdout)) < 1e-14, "features in files")


def formats(p):
    """NPY, NPZ and HDF5: the same array of each."""
    npy, archive = os.path.join(SOURCE, "tests/fixtures/npy/big_float64.npy"), p.file("a.npz")
    with zipfile.ZipFile(archive, "w") as z:
        z.write(npy, "some.npy")
    for other in (f"{archive}:some", os.path.join(SOURCE, "tests/fixtures/hdf5/h5py.h5:/npy/big_float64")):
        equal(metrics(p, "compute", "max_error", npy, other).stdout, "0.0\n", other)


SUITE = {"groups": {"errors": ["mae", {"metric": "huber_loss", "parameters": {"delta": 0.1}, "high": 0.01}], "fit": [{"metric": "r_squared", "low": 0.9}]}}


def several(p):
    table = p.write("t.csv", TABLE)
    columns = [f"{table}:predicted", f"{table}:measured"]
    text = metrics(p, "compute", "mae,rmse,r_squared", *columns).stdout
    equal([line.split() for line in text.splitlines()], [["mae", "0.5"], ["rmse", "0.6123724356957945"], ["r_squared", "0.9486081370449679"]], "a line for each")
    text = metrics(p, "compute", "mae,huber_loss", *columns, "-s", "delta=0.1", "--ci").stdout
    check("at 95 %" in text and "0.04625" in text, "parameters of those that have them, and intervals")
    suite = p.write("s.json", json.dumps(SUITE))
    done = metrics(p, "compute", "--suite", suite, *columns, expect=1)
    check("errors\n  mae" in done.stdout and "at most 0.01: FAILED" in done.stdout and "at least 0.9: passed" in done.stdout, done.stdout)
    document = json.loads(metrics(p, "compute", "--suite", suite, *columns, "--ci", "--json", expect=1).stdout)
    equal((document["schema"], document["passed"], document["groups"][1]["name"]), ("calibrax-metric-report", False, "fit"), "the report")
    interval = document["groups"][0]["metrics"][0]["interval"]
    check(interval["lower"] <= 0.5 <= interval["upper"], "an interval of each")
    SUITE["groups"]["errors"][1]["high"] = 1
    metrics(p, "compute", "--suite", p.write("s.json", json.dumps(SUITE)), *columns)


def plugin(name):
    return os.path.abspath(os.path.join(BUILD, f"tests/cli/libmetric_plugin_{name}.so"))


def plugins(p):
    table = p.write("t.csv", TABLE)
    columns = [f"{table}:predicted", f"{table}:measured"]
    rows = json.loads(metrics(p, "list", "--plugin", plugin("none"), "--domain", "mine", "--json").stdout)["metrics"]
    equal([(r["name"], r["tier"]) for r in rows], [("power_error", "pure_function"), ("peak_below_half", "pure_function")], "its metrics")
    check("mean(|predictions - targets|^power)" in metrics(p, "describe", "power_error", "--plugin", plugin("none")).stdout, "described")
    equal(metrics(p, "compute", "power_error", *columns, "-s", "power=2", "--plugin", plugin("none")).stdout, "0.375\n", "computed")
    check("[" in metrics(p, "compute", "mse,power_error", *columns, "--ci", "--plugin", plugin("none")).stdout, "with built-in ones")
    described = metrics(p, "describe", "power_error", "--check", "--plugin", plugin("none"))
    check("power_error: the range, the axioms and the invariances hold for 20 random operands" in described.stderr, described.stderr)
    wrong = metrics(p, "describe", "peak_below_half", "--check", "--plugin", plugin("none"), expect=1)
    check("peak_below_half is " in wrong.stderr and ", outside 0 to 0.5" in wrong.stderr, wrong.stderr)
    equal(json.loads(metrics(p, "describe", "mae", "--check", "--json").stdout)["metric"]["name"], "mae", "checked with --json")
    check("'proper' was not tried" in metrics(p, "describe", "interval_score", "--check").stderr, "what cannot be tried is not a failure")
    check("needs a function" in metrics(p, "describe", "f_divergence", "--check", expect=2).stderr, "a function")
    for name, sentence in (("abi", "has metrics of ABI 4, and this program takes 3"), ("name", "there is a metric 'mse' already"), ("row", "must be an identifier, not ")):
        check(sentence in metrics(p, "list", "--plugin", plugin(name), expect=2).stderr, name)
    check("cannot load the plug-in" in metrics(p, "list", "--plugin", "none.so", expect=2).stderr, "no file")
    check("exports no 'cbx_metric_plugin_table'" in metrics(p, "list", "--plugin", plugin("none").replace("metric_plugin_none", "case_plugin_none"), expect=2).stderr, "cases")


def dtypes_of_results(p):
    table = p.write("d.csv", "x,k\n0.5,9007199254740993\n0.25,2\n-3,0\n")

    def document(name, column):
        return json.loads(metrics(p, "compute", name, f"{table}:{column}", "--plugin", plugin("none"), "--json").stdout)

    equal(document("singles", "x")["value"], [0.5, 0.25, -3], "float32")
    equal(document("sum_of_integers", "k")["value"], 9007199254740995, "int64, to the last digit")
    check("complex" in metrics(p, "compute", "as_complex", f"{table}:x", "--plugin", plugin("none"), "--json", expect=2).stderr, "complex")
    check("0.5+0j" in metrics(p, "compute", "as_complex", f"{table}:x", "--plugin", plugin("none")).stdout, "complex as text")
    both = json.loads(metrics(p, "compute", "singles,quantile", f"{table}:x", "--plugin", plugin("none"), "--json").stdout)
    equal([m["value"] for g in both["groups"] for m in g["metrics"]], [[0.5, 0.25, -3], 0.25], "in a report")


def long_integers(p):
    """Labels that differ in their last digit only are different; what no dtype holds is refused."""
    table = p.write("i.csv", "a,b,c,d\n9007199254740993,9007199254740992,0.5,1\n9223372036854775807,9223372036854775806,1,18446744073709551616\n")
    equal(metrics(p, "compute", "rouge_n", f"{table}:a", f"{table}:b").stdout, "0.0\n", "words are compared to the last digit")
    equal(metrics(p, "compute", "rouge_n", f"{table}:a", f"{table}:a").stdout, "1.0\n", "the same")
    sentence = f"'{table}:a' has integers beyond 2^53 that float64 does not hold, such as number 1"
    for names in ("hamming_distance", "mae,mse"):
        check(sentence in metrics(p, "compute", names, f"{table}:a", f"{table}:b", expect=2).stderr, names)
    for source, sentence in ((f"{table}:d", "column 4 has integers that 64 bits do not hold"), (table, "column 1 has integers beyond 2^53"),
                             (p.write("j.csv", "9007199254740993,0.5\n"), "column 1 has integers beyond 2^53")):
        check(sentence in metrics(p, "compute", "quantile", source, expect=2).stderr, sentence)


def columns_of_text(p):
    """Columns that are not named may hold anything; words of labels are numbered in alphabetical order."""
    table = p.write("text.csv", "name,truth,guess,x,y\nann,dog,cat,1,2\nbob,cat,cat,2,4\n\"c, d\",eel,dog,3,4\n,dog,dog,4,4\n")
    equal(metrics(p, "compute", "mae", f"{table}:x", f"{table}:y").stdout, "1.0\n", "other columns are text")
    labels = [f"{table}:guess", f"{table}:truth"]
    equal(metrics(p, "compute", "accuracy", *labels).stdout, "0.5\n", "words as labels")
    equal(json.loads(metrics(p, "compute", "confusion_matrix", *labels, "--json").stdout)["value"], [1, 0, 0, 1, 1, 0, 0, 1, 0], "cat, dog, eel")
    check("cohen_kappa" in metrics(p, "compute", "accuracy,cohen_kappa", *labels).stdout, "of several metrics")
    equal(metrics(p, "compute", "accuracy", f"{table}:x", f"{p.write('n.csv', 'y' + chr(10) + '1 2 3 five'.replace(' ', chr(10)) + chr(10))}:y").stdout, "0.75\n", "numbers beside words")
    remedy = "none of which is class 1: write 1 for the one to count and 0 for the others"
    for average, expect in (("macro", 0), ("binary", 2)):
        suite = p.write("f1.json", '{"metrics": ["accuracy", {"metric": "f1_score", "parameters": {"average": "%s"}}]}' % average)
        equal("f1_score: " in metrics(p, "compute", "--suite", suite, *labels, expect=expect).stderr, expect == 2, f"a suite with {average}")
    check("f1_score" in metrics(p, "compute", "accuracy,f1_score", *labels, "--set", "average=macro").stdout, "words of averages over the classes")
    for args, sentence in ((["f1_score", *labels], f"f1_score: '{labels[0]}' are words, 'cat', 'dog', 'eel', {remedy}, or choose another 'average' than binary\n"),
                           (["accuracy,recall", *labels], f"recall: '{labels[0]}' are words"), (["sensitivity", *labels, "--ci"], f"'eel', {remedy}\n"),
                           (["iou", f"{table}:x", f"{table}:name"], f"iou: '{table}:name' are words, '', '1', '2', ..., {remedy}"),
                           (["mae", *labels], f"{table}:2: 'cat' is not a number\n"), (["mae,accuracy", *labels], "'cat' is not a number"),
                           (["quantile", table], f"{table}:2: 'ann' is not a number: read one column of numbers"),
                           (["accuracy", table, table], f"{table}: name a column of its 5, as in {table}:1")):
        check(sentence in metrics(p, "compute", *args, expect=2).stderr, sentence)


def weighted_intervals(p):
    """Weights are drawn with their items: those of 0 never count, those of 2 count as two items would."""
    rows = [(i / 10, i % 3 / 10, 1 + i % 2) for i in range(40)]
    table = p.write("w.csv", "p,t,one,two,some\n" + "".join(f"{a},{b},1,{w},{int(a < 3)}\n" for a, b, w in rows))

    def interval(*args):
        document = json.loads(metrics(p, "compute", "mse", f"{table}:p", f"{table}:t", "--ci", "--json", *args).stdout)
        return document["value"], document["interval"]["lower"], document["interval"]["upper"]

    equal(interval("--weights", f"{table}:one"), interval(), "weights of 1")
    equal(interval("--weights", f"{table}:some"), interval("--mask", f"{table}:some"), "weights of 0 and 1")
    value, low, high = interval("--weights", f"{table}:two")
    errors = [((a - b) ** 2, w) for a, b, w in rows]
    right = sum(e * w for e, w in errors) / sum(w for _, w in errors)
    check(abs(value - right) < 1e-12 and low < right < high, f"{low} {right} {high}")
    # the error of a weighted mean: sqrt(sum w^2 (e - mean)^2) / sum w
    width = 2 * 1.96 * sum(w * w * (e - right) ** 2 for e, w in errors) ** 0.5 / sum(w for _, w in errors)
    check(0.8 * width < high - low < 1.25 * width, f"{high - low}, not about {width}")
    grades = p.write("g.csv", "g\n1\n2\n3\n4\n5\n")
    document = json.loads(metrics(p, "compute", "ndcg", f"{grades}:g", f"{grades}:g", "--ci", "--json").stdout)
    equal(document["interval"]["upper"], 1.0, "an interval ends where the range of the metric does")
    short = p.write("short.csv", "w\n1\n")
    check("for an interval the weights must have a number for each item" in metrics(p, "compute", "mse", f"{table}:p", f"{table}:t", "--ci", "--weights", f"{short}:w", expect=2).stderr, "one weight")


def faults(p):
    table = p.write("t.csv", TABLE)
    ragged = p.write("ragged.csv", "a,b\n1,2\n3\n")
    a = f"{table}:1"
    for args, sentence in [
        (["mse"], "metrics compute takes a metric and the files of its operands"),
        (["msee", a, a], "there is no metric 'msee': did you mean 'mse'?"),
        (["mse", a], "mse takes 2 operands, not 1"),
        (["mse", a, a, a], "mse takes at most 2 operands, got 3 files"),
        (["mse", a, f"{table}:mesured"], f"{table}: there is no column 'mesured': did you mean 'measured'?"),
        (["mse", ragged, ragged], f"{ragged}:3: the row has 1 cells, the first line 2"),
        (["mse", "a.xyz", a], "a.xyz: the name must end with .npy, .npz:MEMBER, .h5:/DATASET or .csv[:COLUMN]"),
        (["huber_loss", a, a, "-s", "delta=0"], "huber_loss: 'delta' must be above 0, not 0"),
        (["huber_loss", a, a, "-s", "delta="], "--set delta=: 'delta' must be a number, not ''\n"),
        (["huber_loss", a, a, "-s", "d=1"], "--set d=1: huber_loss has no such parameter: calibrax metrics describe huber_loss lists them"),
        (["mae,huber_loss", a, a, "-s", "d=1"], "--set d=1: no metric has such a parameter"),
        (["", a, a], "metrics compute '': a name of the list is empty"),
        (["mae,,mse", a, a], "metrics compute 'mae,,mse': a name of the list is empty"),
        (["mae,", a, a], "metrics compute 'mae,': a name of the list is empty"),
        (["mae", a, a, "--mask", f"{p.write('mask.csv', 'm' + chr(10) + ('2' + chr(10)) * (len(TABLE.splitlines()) - 1))}:m"], "mae: 'mask'[0] is 2: it must be 0 or 1"),
        (["mae,mae", a, a], "there is a metric 'mae' in the collection already"),
        (["--suite", p.write("bad.json", "{}"), a, a], "bad.json: a suite of metrics has either an object 'groups' or a list 'metrics'"),
        (["--suite", "s.json"], "metrics compute --suite takes the files of the operands"),
        (["mse", a, a, "--level", "0.9"], "'--level' needs '--ci'"),
    ]:
        err = metrics(p, "compute", *args, expect=2).stderr
        check(sentence in err, f"{args}: {err!r}")
    metrics(p, "describe", "nothing", expect=2)
    for option, words in (("axiom", "symmetric identity positive triangle proper metric pseudometric divergence"), ("invariance", "scale common-scale shift rotation order sample-order monotone relabel congruence orthogonal lorentz")):
        check(f"--{option} nothing: it must be one of {words}\n" in metrics(p, "list", "--json", f"--{option}", "nothing", expect=2).stderr, f"words of --{option}")
        check(all(metrics(p, "list", f"--{option}", word).stdout for word in words.split()), f"each word of --{option} selects")


main([the_table, values, formats, several, plugins, dtypes_of_results, long_integers, columns_of_text, weighted_intervals, faults])
