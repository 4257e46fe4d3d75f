// Put behind a page by test_site.py: sorts, filters and chooses in the first table as a reader would, and writes down what it sees.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const section = document.querySelector("section.case");
  const heads = [...section.querySelectorAll("th")];
  const at = title => heads.findIndex(h => h.textContent.startsWith(title));
  const [point, name, time] = ["point", "baseline", "time"].map(at);
  const visible = () => [...section.querySelectorAll("tbody tr")].filter(r => !r.hidden);
  const cells = c => visible().map(r => r.cells[c] ? r.cells[c].textContent : null);
  const press = c => heads[c].querySelector("button").click();
  const choose = (element, value, event) => { element.value = value; element.dispatchEvent(new Event(event)); };
  const search = section.querySelector("input");
  const result = { columns: heads.map(h => h.textContent), rows: visible().length };
  press(time);
  result.ascending = { time: cells(time), sort: heads.map(h => h.getAttribute("aria-sort")) };
  press(time);
  result.descending = { time: cells(time), sort: heads[time].getAttribute("aria-sort") };
  press(name);
  result.byName = { name: cells(name), sort: [heads[name].getAttribute("aria-sort"), heads[time].getAttribute("aria-sort")] };
  press(name);
  press(name);
  result.restored = { name: cells(name), sort: heads[name].getAttribute("aria-sort") };
  choose(search, "stream", "input");
  result.filtered = { name: cells(name), shown: section.querySelector(".shown").textContent };
  choose(search, "no such words anywhere", "input");
  result.nothing = { rows: visible().length, shown: section.querySelector(".shown").textContent };
  choose(search, "", "input");
  choose(section.querySelector(".points"), "0", "change");
  result.onePoint = { point: cells(point), strips: [...section.querySelectorAll(".strip")].filter(f => !f.hidden).length };
  choose(section.querySelector(".points"), "", "change");
  const failed = data.statuses.findIndex(s => s !== "ok");
  if (failed >= 0) choose(section.querySelector(".statuses"), String(failed), "change");
  result.oneStatus = { reason: cells(at("against")), wanted: data.statuses[failed] };
  choose(section.querySelector(".statuses"), "", "change");
  const select = section.querySelector(".plots select");
  result.plots = { all: section.querySelectorAll(".plot").length, shown: section.querySelectorAll(".plot:not([hidden])").length };
  if (select) {
    const last = select.options.length - 1;
    choose(select, String(last), "change");
    result.plots.chosen = [...section.querySelectorAll(".plot")].findIndex(p => !p.hidden) === last;
    result.plots.options = [...select.options].map(o => o.text);
  }
  const metrics = section.querySelector(".metrics"), metric = metrics && metrics.querySelector("select");
  if (metric) {
    const shownNow = () => [...metrics.querySelectorAll("figure:not([hidden])")].map(f => f.dataset.m);
    result.metrics = { options: [...metric.options].map(o => o.text), first: shownNow() };
    choose(metric, String(metric.options.length - 1), "change");
    result.metrics.last = shownNow();
    result.metrics.focused = document.activeElement === metric;
  }
  const box = section.querySelector("table").parentElement.getBoundingClientRect();
  const sizes = new Set([...document.querySelectorAll("body *")].filter(e => e.getClientRects().length && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
    .map(e => getComputedStyle(e).fontSize));
  result.layout = { width: innerWidth, ratioEnds: heads[at("against")].getBoundingClientRect().right, boxEnds: box.right,
    cut: section.querySelector(".scroll").scrollWidth - section.querySelector(".scroll").clientWidth,
    charts: Math.max(...[...document.querySelectorAll(".panels, .panels > svg, figure .scroll")].filter(e => e.clientWidth)
      .map(e => Math.max(e.scrollWidth - e.clientWidth, e.getBoundingClientRect().right - e.closest("figure").getBoundingClientRect().right)), 0),
    tableTop: box.top, page: document.documentElement.scrollWidth, sizes: [...sizes] };
  const output = document.createElement("output");
  output.id = "selftest";
  output.hidden = true;
  output.textContent = JSON.stringify(result);
  document.body.append(output);
})();
