// The curves of the overview: reads the samples of the hub and draws them with uPlot.
(function () {
  "use strict";
  var box = document.querySelector("[data-curves]");
  if (!box || !window.uPlot || !window.fetch) { return; }
  var hour = 3600, least = 300, step = 10000, times = [], values = {}, charts = [], note = document.getElementById("curvenote");

  function color(name) { return getComputedStyle(box).getPropertyValue(name).trim(); }

  function text(v, unit) {
    if (v === null || v === undefined) { return "–"; }
    if (unit === "s") {
      if (v < 0.01) { return Number((v * 1000).toPrecision(2)) + " ms"; }
      if (v < 1) { return Math.round(v * 1000) + " ms"; }
      if (v < 60) { return Number(v.toPrecision(3)) + " s"; }
      return v < 3600 ? Math.round(v / 60) + " min" : Math.round(v / 360) / 10 + " h";
    }
    if (unit === "1/s") { return (v > 0 && v < 10 ? Number(v.toFixed(2)) : Math.round(v)) + "/s"; }
    return String(Math.round(v * 100) / 100);
  }

  // show writes the values at a place, or the last ones, beside the names of the curves.
  function show(chart, at) {
    chart.lines.forEach(function (l) {
      var all = values[l.name] || [];
      l.out.textContent = text(all[at === null || at === undefined ? all.length - 1 : at], chart.unit);
    });
  }

  function data(chart) {
    return [times].concat(chart.lines.map(function (l) { return values[l.name] || times.map(function () { return null; }); }));
  }

  function draw(chart) {
    if (chart.plot) { chart.plot.destroy(); }
    var ink = color("--dim"), grid = { stroke: color("--line"), width: 1 };
    var axis = { stroke: ink, grid: grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    chart.plot = new window.uPlot({
      width: chart.at.clientWidth, height: 130, tzDate: function (s) { return window.uPlot.tzDate(new Date(s * 1000), "Etc/UTC"); },
      legend: { show: false }, padding: [8, 6, 0, 0],
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: "curves" } },
      scales: { x: { range: function () { var end = Math.max(Date.now() / 1000, times[times.length - 1] || 0); return [Math.max(end - hour, Math.min(times[0] || end, end - least)), end]; } },
        y: { range: function (u, low, high) { return [0, high > 0 ? high * 1.1 : 1]; } } },
      axes: [Object.assign({ size: 24, space: 60, incrs: [60, 120, 300, 600, 900, 1800, 3600], values: "{HH}:{mm}" }, axis),
        Object.assign({ size: 52, space: 32, incrs: chart.unit ? undefined : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6, 1e7], values: function (u, ticks) { return ticks.map(function (v) { return text(v, chart.unit); }); } }, axis)],
      series: [{}].concat(chart.lines.map(function (l) {
        var c = color("--" + l.tone);
        return { stroke: c, fill: chart.lines.length === 1 ? c + "22" : undefined, width: 1.5, points: { show: times.length < 3, size: 4 }, spanGaps: chart.unit === "s" };
      })),
      hooks: { setCursor: [function (u) { show(chart, u.cursor.idx); }] }
    }, data(chart), chart.at);
    show(chart, null);
  }

  // take adds the samples of an answer and drops those that are older than an hour.
  function take(answer) {
    step = answer.stepMs || step;
    var first = 0, fresh = answer.times.map(function (t) { return t / 1000; });
    times = times.concat(fresh);
    while (first < times.length && times[first] < times[times.length - 1] - hour) { first++; }
    times = times.slice(first);
    answer.curves.forEach(function (c) { values[c.name] = (values[c.name] || []).concat(c.values).slice(first); });
    return fresh.length > 0;
  }

  function say(t) { if (note.textContent !== t) { note.textContent = t; } }

  var waiting = 0;
  function ask() {
    clearTimeout(waiting);
    var last = times.length ? Math.round(times[times.length - 1] * 1000) : "";
    fetch(box.dataset.curves + "?after=" + last, { credentials: "same-origin" }).then(function (r) {
      if (!r.ok || r.redirected) { throw new Error(String(r.status)); }
      return r.json();
    }).then(function (answer) {
      var few = times.length < 3;
      if (take(answer)) {
        charts.forEach(function (c) { if (few) { draw(c); } else { c.plot.setData(data(c)); show(c, c.plot.cursor.idx); } });
      }
      say(times.length ? "" : "The first sample is taken ten seconds after the start of the hub.");
    }).catch(function () { say("The hub does not answer; trying again."); }).finally(function () {
      if (!document.hidden) { waiting = setTimeout(ask, step); }
    });
  }

  box.querySelectorAll("figure").forEach(function (figure) {
    var lines = Array.prototype.slice.call(figure.querySelectorAll("[data-name]")).map(function (e) {
      return { name: e.dataset.name, tone: e.dataset.tone, out: e.querySelector("b") };
    });
    charts.push({ unit: figure.dataset.unit, lines: lines, at: figure.querySelector(".plot"), plot: null });
  });
  function redraw() { charts.forEach(draw); }
  redraw();
  ask();
  document.addEventListener("visibilitychange", function () { if (!document.hidden) { ask(); } });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  var width = box.clientWidth;
  window.addEventListener("resize", function () { if (box.clientWidth !== width) { width = box.clientWidth; redraw(); } });
})();
