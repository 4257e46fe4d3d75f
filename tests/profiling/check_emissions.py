"""Python's csv on our emissions.csv: argv[1] is read and must hold what the test wrote; argv[2] is the same in another dress."""
import csv
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as f:
    rows = list(csv.DictReader(f))
assert len(rows) == 2, rows
assert rows[0]["project_name"] == 'a, "quoted"\nname', rows[0]["project_name"]
assert (float(rows[0]["emissions"]), float(rows[0]["duration"]), rows[0]["gpu_power"], rows[0]["region"]) == (1e-06, 161.25, "", ""), rows[0]
assert rows[1]["country_iso_code"] == "FRA" and list(rows[0])[:3] == ["timestamp", "project_name", "run_id"]
fields = sorted(rows[0]) + ["of_version_9"]
with open(sys.argv[2], "w", newline="", encoding="utf-8") as f:
    out = csv.DictWriter(f, fields, restval="x", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    out.writeheader()
    out.writerows(rows)
