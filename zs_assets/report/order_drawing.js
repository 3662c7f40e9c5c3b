"use strict";
// Elements and drawings of the choice-order section. Text goes in as text nodes only: titles are data of others.
const orderDrawing = (() => {
  function make(tag, attributes, ...children) {
    return filled(document.createElement(tag), attributes, children);
  }

  function draw(tag, attributes, ...children) {
    return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  }

  function filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) element.setAttribute(name, String(value));
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return element;
  }

  function dotPlot(plot, figure, where, system) {
    const top = 22, height = 38;
    const bottom = top + height * plot.marks.length;
    const at = (value) => `${(100 * value / plot.axis).toFixed(3)}%`;
    const named = `${figure.words} by system, ${where}`;
    const grid = [0, 1, 2, 3, 4].flatMap((step) => {
      const x = `${25 * step}%`;
      const anchor = ["start", "middle", "middle", "middle", "end"][step];
      const words = `${Number((plot.axis * step / 4).toPrecision(6))}${step === 4 ? ` ${figure.unit}` : ""}`;
      return [draw("line", { x1: x, x2: x, y1: top - 4, y2: bottom, class: "grid" }),
        draw("text", { x, y: 12, class: "tick", "text-anchor": anchor }, words)];
    });
    const rows = plot.marks.map((mark, position) => {
      const y = top + height * position;
      const line = y + 27;
      const chosen = mark.backend === system ? " chosen" : "";
      return draw("g", { class: "interval", "data-backend": mark.backend },
        draw("text", { x: 0, y: y + 15, class: `row-label${chosen}` }, mark.short),
        draw("text", { x: "100%", y: y + 15, class: "row-figure", "text-anchor": "end" }, mark.label),
        draw("line", { x1: "0%", x2: "100%", y1: line, y2: line, class: "rule" }),
        mark.noise_high === null ? null : draw("rect", {
          x: at(mark.noise_low), width: at(mark.noise_high - mark.noise_low), y: line - 7, height: 14, class: "noise" }),
        mark.high === null ? null : draw("line", { x1: at(mark.low), x2: at(mark.high), y1: line, y2: line, class: "whisker" }),
        mark.exact_high === null ? null : draw("line", {
          x1: at(mark.exact_low), x2: at(mark.exact_high), y1: line, y2: line, class: "whisker exact" }),
        mark.value === null ? null : draw("circle", { cx: at(mark.value), cy: line, r: 4.5 }));
    });
    return draw("svg", { width: "100%", height: bottom, role: "img", "aria-label": named, class: "chart order-dots" },
      draw("title", {}, named), grid, rows);
  }

  function picture(label, height, ...parts) {
    return draw("svg", { viewBox: `0 0 340 ${height}`, role: "img", "aria-label": label, class: "chart" },
      draw("title", {}, label), parts);
  }

  function label(x, y, words, kind, anchor) {
    return draw("text", { x, y, class: kind, "text-anchor": anchor || "middle" }, words);
  }

  /** Three digits; what would need many zeros is in scientific notation. */
  const plain = (value) => (value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(2) : String(Number(value.toPrecision(3))));

  /** Samples by range from 0 to `widest`, the same for every system of a view; empty bins are not in the data. */
  function histogram(bins, widest, threshold) {
    const most = Math.max(1, ...bins.map((bin) => bin[2]));
    const x = (value) => 34 + 296 * value / widest;
    const bars = bins.map(([low, high, samples]) => {
      const tall = samples ? Math.max(1, 116 * samples / most) : 0;
      const kind = low >= threshold ? "bar large" : "bar";
      return draw("rect", { x: x(low), width: Math.max(1.5, x(high) - x(low) - 0.4), y: 134 - tall, height: tall, class: kind },
        draw("title", {}, `${plain(low)} to ${plain(high)} points: ${samples} samples`));
    });
    return picture("Samples by score range", 166,
      draw("line", { x1: 34, x2: 330, y1: 134, y2: 134, class: "rule" }), bars,
      label(30, 24, String(most), "tick", "end"), label(30, 138, "0", "tick", "end"),
      [0, 1, 2].map((step) => label(34 + 148 * step, 149, plain(widest * step / 2), "tick")),
      label(182, 163, "range, points", "axis"));
  }

  function positions(rows, even) {
    const values = rows.flatMap((row) => row.slice(0, 3)).filter((value) => value !== null).concat(even);
    // Two hundredths of a point at least, so that noise in the last digits does not fill the picture.
    const low = Math.min(...values, even - 0.01), high = Math.max(...values, even + 0.01);
    const margin = (high - low) * 0.12;
    const tick = (value) => (high - low < 1 ? value.toFixed(2) : plain(value));
    const y = (value) => 134 - 116 * (value - low + margin) / (high - low + 2 * margin);
    const x = (at) => 52 + 270 * (at + 0.5) / rows.length;
    const marks = rows.map(([mean, from, to, words], at) => draw("g", { class: "interval" },
      draw("title", {}, `position ${at + 1}: ${words}`),
      from === null || to === null ? null : draw("line", { x1: x(at), x2: x(at), y1: y(from), y2: y(to), class: "whisker" }),
      mean === null ? null : draw("circle", { cx: x(at), cy: y(mean), r: 3 })));
    const every = Math.ceil(rows.length / 14);
    return picture("Mean score by position", 166,
      draw("line", { x1: 44, x2: 330, y1: y(even), y2: y(even), class: "even" }), marks,
      label(40, y(even) + 4, tick(even), "tick", "end"),
      Math.abs(y(high) - y(even)) > 14 ? label(40, y(high) + 4, tick(high), "tick", "end") : null,
      Math.abs(y(low) - y(even)) > 14 ? label(40, y(low) + 4, tick(low), "tick", "end") : null,
      rows.map((row, at) => (at % every ? null : label(x(at), 149, String(at + 1), "tick"))),
      label(187, 163, "position (1 is sent first)", "axis"));
  }

  /** One figure by the number of rotations, from 0 to `top`, or to its highest value where there is no natural top. */
  function curve(rows, column, words, kind, top) {
    const drawn = rows.filter((row) => row[column] !== null);
    if (!drawn.length) return null;
    const high = top || Math.max(...drawn.map((row) => row[column]), 0.01);
    const last = Math.max(...rows.map((row) => row.rotations));
    const x = (rotations) => 52 + 270 * (last === 1 ? 0.5 : (rotations - 1) / (last - 1));
    const y = (value) => 134 - 112 * value / high;
    const line = drawn.map((row, at) => `${at ? "L" : "M"}${x(row.rotations).toFixed(1)} ${y(row[column]).toFixed(1)}`).join("");
    const whiskers = column !== "large" ? [] : drawn.filter((row) => row.high !== null).map((row) => draw("line", {
      x1: x(row.rotations), x2: x(row.rotations), y1: y(row.low), y2: y(row.high), class: "whisker" }));
    const every = Math.ceil(drawn.length / 14);
    return picture(words, 166,
      draw("line", { x1: 44, x2: 330, y1: 134, y2: 134, class: "rule" }),
      draw("path", { d: line, class: `curve ${kind}`, fill: "none" }), draw("g", { class: "interval" }, whiskers),
      drawn.map((row) => draw("circle", { cx: x(row.rotations), cy: y(row[column]), r: 4, class: kind },
        draw("title", {}, `${row.rotations} rotations: ${plain(row[column])}${row.cost === null ? "" : `, ${row.cost} USD`}`))),
      label(40, y(high) + 4, plain(high), "tick", "end"), label(40, 138, "0", "tick", "end"),
      drawn.map((row, at) => (at % every ? null : label(x(row.rotations), 149, String(row.rotations), "tick"))),
      label(187, 163, "rotations averaged (cost: see the table)", "axis"));
  }

  return { make, dotPlot, histogram, positions, curve, plain };
})();
