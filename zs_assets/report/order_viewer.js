"use strict";
// Switches the choice-order section between views whose figures are all written in the page's data; it asks nobody.
(() => {
  const { make, dotPlot, histogram, positions, curve, plain } = orderDrawing;
  const data = JSON.parse(document.getElementById("order-data").textContent);
  const section = document.getElementById("order");
  const live = document.getElementById("order-live");
  const state = { dataset: 0, group: "", rule: data.rules[0].key, figure: data.figures[0].key, system: "", sentence: 0 };

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
    return make("label", { class: "chooser" }, make("span", { class: "named" }, words), element);
  }

  const choices = make("div", { class: "order-choices" });

  /** The dataset's own control stays: replacing it while somebody types into it would lose focus and letters. */
  function buildControls() {
    const names = data.datasets.map((one, at) => [at, one.name]);
    const others = names.length > 1
      ? [select("dataset", "Dataset", names, state.dataset, (value) => { enter(Number(value)); buildChoices(); render(); })]
      : [];
    box("controls").append(...others, choices);
    buildChoices();
  }

  function buildChoices() {
    const own = dataset();
    const parts = [];
    if (own.groups.length) {
      parts.push(radios("group", "Sample group", own.groups), radios("rule", "Validation", data.rules));
      parts.push(radios("figure", "Figure", data.figures));
    }
    if (own.systems.length) {
      const systems = own.systems.map((name) => [name, data.titles[name]]);
      parts.push(select("system", "System in detail", systems, state.system, (value) => { state.system = value; render(); }));
    }
    choices.replaceChildren(...parts);
    box("controls").hidden = data.datasets.length === 1 && parts.length === 0;
    buildExplorer();
  }

  function enter(at) {
    const own = data.datasets[at];
    state.dataset = at;
    state.sentence = 0;
    if (!own.groups.some((one) => one.key === state.group)) state.group = own.groups.length ? own.groups[0].key : "";
    if (own.systems.includes(state.system)) return;
    // The least stable system has most to show.
    const found = own.views[`${state.rule}|${state.group}`];
    const marks = found ? found.plots[state.figure].marks : [];
    state.system = marks.length ? marks[marks.length - 1].backend : own.systems[0] || "";
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

  // --- one system -----------------------------------------------------------------------------------------------
  function details(found) {
    const title = data.titles[state.system];
    const parts = [];
    if (found.bins.length) {
      const { widest, threshold } = view();
      parts.push(make("div", {}, make("h4", {}, "Samples by score range"), histogram(found.bins, widest, threshold),
        note(`Orange: at least ${threshold} points, a large range.`)));
    }
    if (found.positions.length) {
      parts.push(make("div", {}, make("h4", {}, "Mean score by position"), positions(found.positions, found.even),
        note(`Dashed: ${plain(found.even)} points, no preference. ${data.notes.positions}`)));
    }
    const shown = [make("h3", {}, `In detail: ${title}`), make("div", { class: "order-pair" }, averaged(found), parts)];
    if (found.averaging.length) {
      shown.push(table({ caption: `Averaging over rotations: ${title}`, columns: data.averaging_columns,
        rows: found.averaging }));
    }
    if (found.positions.length) {
      shown.push(table({ caption: `Mean score by position, points: ${title}`, columns: ["position", "mean score [95 %]"],
        rows: found.positions.map((row, at) => [String(at + 1), row[3]]) }));
    }
    return shown;
  }

  /** Curves over the number of rotations averaged; shares on an axis from 0 to 100, so that small steps look small. */
  function averaged(found) {
    const curves = [["large", "Large ranges by rotations averaged, %", "first", 100, "Lines: the interval of the table."],
      ["range", "Median range by rotations averaged, points", "first", null, ""],
      ["accuracy", "Accuracy by rotations averaged, %", "second", 100, found.gain]];
    return curves.flatMap(([column, words, kind, top, beneath]) => {
      const drawn = curve(found.curve, column, words, kind, top);
      return drawn ? [make("div", {}, make("h4", {}, words), drawn, beneath ? note(beneath) : null)] : [];
    });
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
    markWide();
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
    const shown = [], repeats = [];
    if (found) {
      const plot = found.plots[state.figure];
      const rule = data.rules.find((one) => one.key === state.rule).words;
      const group = own.groups.find((one) => one.key === state.group).said;
      box("said").textContent = `${own.name}, ${rule}, ${group}: ${found.samples}. ${plot.said}`;
      box("plot").replaceChildren(...(plot.marks.length ? [dotPlot(plot, figure(), own.name, state.system), note(plot.note)] : []));
      const order = plot.marks.map((mark) => found.backends.indexOf(mark.backend));
      if (order.length) {
        shown.push(table(found.sensitivity, order), note(data.notes.zero));
        if (found.asking.rows.length) shown.push(table(found.asking, order), note(data.notes.averaging));
        repeats.push(table(found.controls, order), note(data.notes.controls));
      }
      shown.push(...found.differences.map((one) => table(one)));
    } else {
      box("said").textContent = `${own.name}: asked in one order only.`;
      box("plot").replaceChildren();
    }
    const detail = found && found.details[state.system];
    box("tables").replaceChildren(...shown);
    box("repeats").replaceChildren(...repeats);
    box("details").replaceChildren(...(detail ? details(detail) : []));
    box("coverage").replaceChildren(...(own.coverage[state.group] || []).map((one) => table(one)),
      ...own.verification.map((one) => table(one, null, "figures prose-end")));
    if (own.explorer) renderExplorer(own.explorer);
    markWide();
  }

  /** A table wider than its box says so: on a telephone a cut column looks like a complete table. */
  function markWide() {
    for (const found of live.querySelectorAll(".scroll")) {
      found.toggleAttribute("data-wide", found.scrollWidth > found.clientWidth + 1);
    }
  }

  enter(0);
  buildControls();
  render();
  live.hidden = false;
  markWide();
  addEventListener("resize", markWide);
  for (const still of section.querySelectorAll(".order-static")) still.hidden = true;
})();
