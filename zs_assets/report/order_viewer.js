"use strict";
// Switches the choice-order section between views whose figures are all written in the page's data; it asks nobody.
// Text goes in as text nodes only: titles and sentences are data of others.
(() => {
  const data = JSON.parse(document.getElementById("order-data").textContent);
  const section = document.getElementById("order");
  const live = document.getElementById("order-live");
  const state = { dataset: 0, group: "", rule: data.rules[0].key, figure: data.figures[0].key, system: "", sentence: 0 };

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
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }

  const dataset = () => data.datasets[state.dataset];
  const view = () => dataset().views[`${state.rule}|${state.group}`];
  const figure = () => data.figures.find((one) => one.key === state.figure);
  const box = (id) => document.getElementById(`order-${id}`);

  // --- controls -------------------------------------------------------------------------------------------------
  function radios(name, legend, choices) {
    const inputs = choices.map((choice) => {
      const input = make("input", { type: "radio", name: `order-${name}`, value: choice.key });
      input.checked = choice.key === state[name];
      input.addEventListener("change", () => { state[name] = choice.key; render(); });
      return make("label", {}, input, choice.words);
    });
    return make("fieldset", {}, make("legend", {}, legend), make("div", { class: "choices" }, inputs));
  }

  function select(id, words, choices, chosen, onChange) {
    const options = choices.map(([value, text]) => make("option", { value }, text));
    const element = make("select", { id: `order-${id}-select` }, options);
    element.value = String(chosen);
    element.addEventListener("change", () => onChange(element.value));
    return make("label", {}, make("span", { class: "named" }, words), element);
  }

  function buildControls() {
    const own = dataset();
    const parts = [];
    if (data.datasets.length > 1) {
      parts.push(select("dataset", "Dataset", data.datasets.map((one, at) => [at, one.name]), state.dataset, (value) => {
        enter(Number(value));
        buildControls();
        document.getElementById("order-dataset-select").focus();
        render();
      }));
    }
    if (own.groups.length) {
      parts.push(radios("group", "Samples", own.groups), radios("rule", "Validation", data.rules));
      parts.push(radios("figure", "Figure", data.figures));
    }
    if (own.systems.length) {
      const systems = own.systems.map((name) => [name, data.titles[name]]);
      parts.push(select("system", "System in detail", systems, state.system, (value) => { state.system = value; render(); }));
    }
    box("controls").replaceChildren(...parts);
    box("controls").hidden = parts.length === 0;
    buildExplorer();
  }

  function enter(at) {
    const own = data.datasets[at];
    state.dataset = at;
    state.sentence = 0;
    if (!own.groups.some((one) => one.key === state.group)) state.group = own.groups.length ? own.groups[0].key : "";
    if (!own.systems.includes(state.system)) state.system = own.systems.length ? own.systems[0] : "";
  }

  // --- tables ---------------------------------------------------------------------------------------------------
  function table(found, order, extra) {
    const rows = order ? order.map((at) => found.rows[at]) : found.rows;
    const head = make("tr", {}, found.columns.map((column) => make("th", { scope: "col" }, column)));
    const body = rows.map((row) =>
      make("tr", {}, make("th", { scope: "row" }, row[0]), row.slice(1).map((cell) => make("td", {}, cell))));
    return scrolling(found.caption, make("table", { class: extra || "figures" },
      make("caption", {}, found.caption), make("thead", {}, head), make("tbody", {}, body)));
  }

  function scrolling(label, content) {
    return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `Table: ${label}` }, content);
  }

  const note = (text) => make("p", { class: "note" }, text);

  // --- dot plot -------------------------------------------------------------------------------------------------
  function dotPlot(plot) {
    const top = 22, height = 38;
    const bottom = top + height * plot.marks.length;
    const at = (value) => `${(100 * value / plot.axis).toFixed(3)}%`;
    const label = `${figure().words} by system, ${dataset().name}`;
    const grid = [0, 1, 2, 3, 4].flatMap((step) => {
      const x = `${25 * step}%`;
      const anchor = ["start", "middle", "middle", "middle", "end"][step];
      const words = `${Number((plot.axis * step / 4).toPrecision(6))}${step === 4 ? ` ${figure().unit}` : ""}`;
      return [draw("line", { x1: x, x2: x, y1: top - 4, y2: bottom, class: "grid" }),
        draw("text", { x, y: 12, class: "tick", "text-anchor": anchor }, words)];
    });
    const rows = plot.marks.map((mark, position) => {
      const y = top + height * position;
      const line = y + 27;
      const chosen = mark.backend === state.system ? " chosen" : "";
      return draw("g", { class: "interval", "data-backend": mark.backend },
        draw("text", { x: 0, y: y + 15, class: `row-label${chosen}` }, mark.title),
        draw("text", { x: "100%", y: y + 15, class: "row-figure", "text-anchor": "end" }, mark.label),
        draw("line", { x1: "0%", x2: "100%", y1: line, y2: line, class: "rule" }),
        mark.noise_high === null ? null : draw("rect", {
          x: at(mark.noise_low), width: at(mark.noise_high - mark.noise_low), y: line - 7, height: 14, class: "noise" }),
        mark.high === null ? null : draw("line", { x1: at(mark.low), x2: at(mark.high), y1: line, y2: line, class: "whisker" }),
        mark.value === null ? null : draw("circle", { cx: at(mark.value), cy: line, r: 4.5 }));
    });
    return draw("svg", { width: "100%", height: bottom, role: "img", "aria-label": label, class: "chart order-dots" },
      draw("title", {}, label), grid, rows);
  }

  // --- one system -----------------------------------------------------------------------------------------------
  function picture(label, height, ...parts) {
    return draw("svg", { viewBox: `0 0 340 ${height}`, role: "img", "aria-label": label, class: "chart" },
      draw("title", {}, label), parts);
  }

  function label(x, y, words, kind, anchor) {
    return draw("text", { x, y, class: kind, "text-anchor": anchor || "middle" }, words);
  }

  const plain = (value) => String(Number(value.toPrecision(3)));

  function histogram(bins) {
    const most = Math.max(1, ...bins.map((bin) => bin[2]));
    const last = bins[bins.length - 1][1] || 1;
    const first = bins[0][0];
    const x = (value) => 34 + 296 * (value - first) / (last - first || 1);
    const bars = bins.map(([low, high, samples]) => {
      const tall = samples ? Math.max(1, 116 * samples / most) : 0;
      const wide = Math.max(1, x(high) - x(low) - 1);
      return draw("rect", { x: x(low), width: wide, y: 134 - tall, height: tall, class: "bar" },
        draw("title", {}, `${plain(low)} to ${plain(high)} points: ${samples} samples`));
    });
    return picture("Samples by score range", 166,
      draw("line", { x1: 34, x2: 330, y1: 134, y2: 134, class: "rule" }), bars,
      label(30, 24, String(most), "tick", "end"), label(30, 138, "0", "tick", "end"),
      [0, 1, 2].map((step) => label(34 + 148 * step, 149, plain(first + (last - first) * step / 2), "tick")),
      label(182, 163, "range, points", "axis"));
  }

  function positions(rows, even) {
    const values = rows.flatMap((row) => row.slice(0, 3)).filter((value) => value !== null).concat(even);
    const low = Math.min(...values), high = Math.max(...values);
    const margin = (high - low || 1) * 0.12;
    const y = (value) => 134 - 116 * (value - low + margin) / (high - low + 2 * margin);
    const x = (at) => 52 + 270 * (at + 0.5) / rows.length;
    const marks = rows.map(([mean, from, to, words], at) => draw("g", { class: "interval" },
      draw("title", {}, `position ${at + 1}: ${words}`),
      from === null || to === null ? null : draw("line", { x1: x(at), x2: x(at), y1: y(from), y2: y(to), class: "whisker" }),
      mean === null ? null : draw("circle", { cx: x(at), cy: y(mean), r: 4 })));
    const every = Math.ceil(rows.length / 14);
    return picture("Mean score by position", 166,
      draw("line", { x1: 44, x2: 330, y1: y(even), y2: y(even), class: "even" }), marks,
      label(40, y(even) + 4, plain(even), "tick", "end"),
      Math.abs(y(high) - y(even)) > 14 ? label(40, y(high) + 4, plain(high), "tick", "end") : null,
      Math.abs(y(low) - y(even)) > 14 ? label(40, y(low) + 4, plain(low), "tick", "end") : null,
      rows.map((row, at) => (at % every ? null : label(x(at), 149, String(at + 1), "tick"))),
      label(187, 163, "position (1 is sent first)", "axis"));
  }

  function curve(rows, column, words, kind) {
    const drawn = rows.filter((row) => row[column] !== null);
    if (!drawn.length) return null;
    const scale = column === 2 ? 100 : 1;
    const values = drawn.map((row) => row[column] * scale);
    const floor = column === 1 ? 0 : Math.min(...values), high = Math.max(...values);
    const last = Math.max(...rows.map((row) => row[0]));
    const x = (rotations) => 52 + 270 * (last === 1 ? 0.5 : (rotations - 1) / (last - 1));
    const y = (value) => 130 - 108 * (high === floor ? 0.5 : (value - floor) / (high - floor));
    const line = drawn.map((row, at) => `${at ? "L" : "M"}${x(row[0]).toFixed(1)} ${y(values[at]).toFixed(1)}`).join("");
    return picture(words, 166,
      draw("line", { x1: 44, x2: 330, y1: 134, y2: 134, class: "rule" }),
      draw("path", { d: line, class: `curve ${kind}`, fill: "none" }),
      drawn.map((row, at) => draw("circle", { cx: x(row[0]), cy: y(values[at]), r: 4, class: kind },
        draw("title", {}, `${row[0]} rotations: ${plain(values[at])}${row[3] === null ? "" : `, ${row[3]} USD`}`))),
      label(40, y(high) + 4, plain(high), "tick", "end"),
      high === floor ? null : label(40, y(floor) + 4, plain(floor), "tick", "end"),
      drawn.map((row) => label(x(row[0]), 149, String(row[0]), "tick")),
      label(187, 163, "rotations averaged", "axis"));
  }

  function details(found) {
    const title = data.titles[state.system];
    const parts = [];
    if (found.bins.length) parts.push(make("div", {}, make("h4", {}, "Samples by score range"), histogram(found.bins)));
    if (found.positions.length) {
      parts.push(make("div", {}, make("h4", {}, "Mean score by position"), positions(found.positions, found.even),
        note(`Dashed: ${plain(found.even)} points, no preference. ${data.notes.positions}`)));
    }
    const range = curve(found.curve, 1, "Median range by rotations averaged, points", "first");
    if (range) parts.push(make("div", {}, make("h4", {}, "Median range by rotations averaged, points"), range));
    const accuracy = curve(found.curve, 2, "Accuracy by rotations averaged, %", "second");
    if (accuracy) parts.push(make("div", {}, make("h4", {}, "Accuracy by rotations averaged, %"), accuracy));
    const shown = [make("h3", {}, `In detail: ${title}`), make("div", { class: "order-pair" }, parts)];
    if (found.positions.length) {
      shown.push(table({ caption: `Mean score by position, points: ${title}`, columns: ["position", "mean score [95 %]"],
        rows: found.positions.map((row, at) => [String(at + 1), row[3]]) }));
    }
    if (found.averaging.length) {
      shown.push(table({ caption: `Averaging over rotations: ${title}`, columns: data.averaging_columns,
        rows: found.averaging }), note(data.notes.averaging));
    }
    return shown;
  }

  // --- explorer -------------------------------------------------------------------------------------------------
  function buildExplorer() {
    const found = dataset().explorer;
    box("explorer").hidden = !found;
    if (!found) { box("explore").replaceChildren(); box("scores").replaceChildren(); return; }
    const move = (by) => () => {
      state.sentence = (state.sentence + by + found.sentences.length) % found.sentences.length;
      document.getElementById("order-sentence-select").value = String(state.sentence);
      renderExplorer(found);
    };
    const previous = make("button", { type: "button", id: "order-previous" }, "Previous");
    const next = make("button", { type: "button", id: "order-next" }, "Next");
    previous.addEventListener("click", move(-1));
    next.addEventListener("click", move(1));
    const sentences = found.sentences.map((one, at) => [at, one.text]);
    box("explore").replaceChildren(select("sentence", "Sentence", sentences, state.sentence,
      (value) => { state.sentence = Number(value); renderExplorer(found); }), previous, next);
  }

  function renderExplorer(found) {
    const sentence = found.sentences[state.sentence];
    const scores = sentence.scores[state.system];
    const title = data.titles[state.system];
    const shown = [note(found.note), make("p", { class: "order-sentence" }, sentence.text)];
    if (scores && scores.by_order.some((row) => row !== null)) shown.push(heat(found, scores, title));
    else shown.push(make("p", {}, `${title} has no scores recorded for this sentence.`));
    box("scores").replaceChildren(...shown);
  }

  function heat(found, scores, title) {
    const rows = scores.by_order.map((row, at) => {
      const first = found.options[found.orders[at].indexOf(1)];
      const cells = row === null
        ? [make("td", { colspan: found.options.length }, "not scored")]
        : row.map((score, option) => {
          const share = Math.max(0, Math.min(100, Number(score)));
          const cell = make("td", share >= 30 ? { class: "hot" } : {}, score,
            make("small", {}, `position ${found.orders[at][option]}`));
          cell.style.setProperty("--heat", `${(share / 2).toFixed(1)}%`);
          return cell;
        });
      return make("tr", {}, make("th", { scope: "row" }, `${found.numbers[at]}: ${first} first`), cells);
    });
    const summaries = [["mean of the orders", scores.mean], ["range, points", scores.range]].map(([words, cells]) =>
      make("tr", { class: "summary" }, make("th", { scope: "row" }, words), cells.map((cell) => make("td", {}, cell))));
    const caption = `Recorded scores by order, points: ${title}`;
    const head = make("tr", {}, ["order", ...found.options].map((words) => make("th", { scope: "col" }, words)));
    return scrolling(caption, make("table", { class: "heat figures" }, make("caption", {}, caption),
      make("thead", {}, head), make("tbody", {}, rows, summaries)));
  }

  // --- everything -----------------------------------------------------------------------------------------------
  function render() {
    const own = dataset();
    const found = view();
    const shown = [];
    if (found) {
      const plot = found.plots[state.figure];
      const rule = data.rules.find((one) => one.key === state.rule).words;
      const group = own.groups.find((one) => one.key === state.group).words;
      box("said").textContent = `${own.name}, ${rule}, ${group}: ${found.samples}. ${plot.said}`;
      box("plot").replaceChildren(...(plot.marks.length ? [dotPlot(plot), note(plot.note)] : []));
      const order = plot.marks.map((mark) => found.backends.indexOf(mark.backend));
      if (order.length) {
        shown.push(table(found.sensitivity, order), note(data.notes.zero), table(found.controls, order), note(data.notes.controls));
      }
      shown.push(...found.differences.map((one) => table(one)));
    } else {
      box("said").textContent = `${own.name}: asked in one order only.`;
      box("plot").replaceChildren();
    }
    const detail = found && found.details[state.system];
    box("tables").replaceChildren(...shown);
    box("details").replaceChildren(...(detail ? details(detail) : []));
    box("coverage").replaceChildren(...(own.coverage[state.group] || []).map((one) => table(one)),
      ...own.verification.map((one) => table(one, null, "figures prose-end")));
    if (own.explorer) renderExplorer(own.explorer);
  }

  enter(0);
  buildControls();
  render();
  live.hidden = false;
  for (const still of section.querySelectorAll(".order-static")) still.hidden = true;
})();
