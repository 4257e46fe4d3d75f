// Sorting, filtering, choice of a plot, highlighting.  The page is whole without it.
// Nothing is built from strings of HTML: text from rows stays text.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const column = Object.fromEntries(data.columns.map((name, i) => [name, i]));
  document.documentElement.classList.add("js");

  // Numbers by value, rows without one last whichever way; texts by their numbers first ("256" before "1024").
  const collator = new Intl.Collator("en", { numeric: true });
  function compare(a, b, sign) {
    if (typeof a === "string") return sign * collator.compare(a, b);
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (a - b);
  }

  function setUpTable(section) {
    const number = Number(section.dataset.case);
    const body = section.querySelector("tbody");
    const heads = [...section.querySelectorAll("th")];
    const search = section.querySelector("input");
    const points = section.querySelector(".points");
    const statuses = section.querySelector(".statuses");
    const shown = section.querySelector(".shown");
    const all = section.querySelector(".all");
    const strips = [...section.querySelectorAll(".strip")];
    const own = data.rows.filter(r => r[column.case] === number);
    const rows = [...body.rows].map((tr, i) => ({ tr, i, values: own[i], text: tr.textContent.toLowerCase() }));

    function filter() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      for (const r of rows) {
        const fits = words.every(w => r.text.includes(w)) &&
          (points.value === "" || r.values[column.point] === Number(points.value)) &&
          (statuses.value === "" || r.values[column.status] === Number(statuses.value));
        r.tr.hidden = !fits;
        n += fits;
      }
      for (const f of strips) f.hidden = points.value !== "" && f.dataset.g !== points.value;
      shown.textContent = n + " of " + rows.length + " rows";
    }

    function sort(c) {
      const head = heads[c];
      const order = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
      for (const h of heads) h.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", order);
      const sign = order === "descending" ? -1 : 1;
      const key = head.dataset.k ? r => r.values[column[head.dataset.k]] : r => r.tr.cells[c].textContent;
      const sorted = rows.slice().sort((a, b) => (order === "none" ? 0 : compare(key(a), key(b), sign)) || a.i - b.i);
      body.parentElement.classList.toggle("sorted", order !== "none");
      body.append(...sorted.map(r => r.tr));
    }

    // Columns that do not fit are hidden, the last first, unless all are required; name and ratio always stay.
    function fit() {
      const box = body.parentElement.parentElement, kept = heads.findIndex(h => h.className === "ratio") + 1;
      const show = n => {
        for (const tr of [heads[0].parentElement, ...body.rows])
          for (const cell of tr.cells)
            if (cell.className === "why") cell.colSpan = Math.max(1, n - cell.cellIndex);
            else cell.hidden = cell.cellIndex >= n;
      };
      let n = heads.length;
      for (show(n); n > kept && box.scrollWidth > box.clientWidth; show(n)) n--;
      all.parentElement.hidden = n === heads.length;
      if (all.checked) show(heads.length);
    }

    heads.forEach((h, c) => h.firstElementChild.addEventListener("click", () => sort(c)));
    all.addEventListener("change", fit);
    addEventListener("resize", fit);
    search.addEventListener("input", filter);
    points.addEventListener("change", filter);
    statuses.addEventListener("change", filter);
    filter();
    fit();
  }

  // Several figures become one with a choice in its caption; title: of the caption; null: each figure keeps its own.
  function setUpChoice(figures, label, names, title, first) {
    if (figures.length < 2) return;
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", label);
    names.forEach((name, i) => choice.append(new Option(name, i)));
    choice.value = String(first);
    function show() {
      figures.forEach((f, i) => { f.hidden = i !== Number(choice.value); });
      const caption = figures[choice.value].firstElementChild;
      if (title) caption.replaceChildren(title);
      caption.append(choice);
    }
    choice.addEventListener("change", () => { show(); choice.focus(); });
    show();
  }

  // The representative point's plot is shown first.
  function setUpPlots(section) {
    const plots = [...section.querySelectorAll(".plot")];
    setUpChoice(plots, "which plot", plots.map(p => p.querySelector("figcaption span").textContent), "Time against work",
      Math.max(0, plots.findIndex(p => "first" in p.dataset)));
  }

  // The history of a point: one metric at a time.
  function setUpMetrics(metrics) {
    const charts = [...metrics.querySelectorAll("figure")];
    setUpChoice(charts, "which metric", charts.map(f => f.dataset.m), null, 0);
  }

  // Pointing at a series dims the others of its plot.
  function setUpHighlight(figure) {
    figure.addEventListener("pointerover", e => {
      const g = e.target.closest("g[data-s]");
      figure.classList.toggle("lit", Boolean(g));
      if (g) for (const other of figure.querySelectorAll("g[data-s]")) other.classList.toggle("on", other.dataset.s === g.dataset.s);
    });
    figure.addEventListener("pointerleave", () => figure.classList.remove("lit"));
  }

  document.querySelectorAll("section.case").forEach(s => { setUpTable(s); setUpPlots(s); });
  document.querySelectorAll(".metrics").forEach(setUpMetrics);
  document.querySelectorAll("figure").forEach(setUpHighlight);
})();
