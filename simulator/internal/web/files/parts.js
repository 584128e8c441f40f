// Pieces that several sections are made of.

import { h } from "./dom.js";

export const mono = (text) => h("span", { class: "mono" }, text);
export const muted = (...content) => h("span", { class: "muted" }, ...content);

// titled is the first cell of a resource: its name, its ID, and its labels or
// tags.
export function titled({ id, name }, words) {
  const own = pairs(words);
  return [
    h("strong", null, name),
    muted(mono(id)),
    own.length > 0 && h("span", { class: "muted labels", title: own.join("\n") }, own.join("  ")),
  ];
}

// state is a word with a coloured dot. tone chooses the colour.
export function state(word, tone) {
  return h("span", { class: `state ${tone}` }, word);
}

// button carries out a request of the operator when it is pressed. about is
// where its error is shown.
export function button(label, { method, path, about, danger, off, body, title, key }) {
  return h(
    "button",
    {
      type: "button", class: danger ? "danger" : null, disabled: off, title,
      "data-key": key ?? label, "data-about": about,
      "data-method": method, "data-path": path, "data-body": body && JSON.stringify(body),
    },
    label,
  );
}

// problem is the error of the last action about something.
export function problem(app, about) {
  const text = app.problems.get(about);
  if (!text) return null;
  return h(
    "p",
    { class: "problem", role: "alert", "data-key": `problem of ${about}` },
    h("span", null, text),
    h("button", { type: "button", class: "plain", "data-dismiss": about, "aria-label": "Dismiss the error" }, "Dismiss"),
  );
}

// table makes a table. Its ARIA roles are explicit, because a narrow window shows
// the rows as cards, which would lose the implicit roles. A row is an object with
// key and cells, and optionally below: the content under the cells.
export function table(label, columns, rows, kind) {
  const heads = columns.map((c) => h("th", { role: "columnheader", scope: "col" }, c || h("span", { class: "unseen" }, "Actions")));
  return h(
    "table",
    { role: "table", "aria-label": label, class: kind },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)),
    h("tbody", { role: "rowgroup" }, rows.map((row) => [
      h("tr", { role: "row", "data-key": row.key, class: row.tone }, row.cells.map((cell, n) =>
        h(n === 0 ? "th" : "td", { role: n === 0 ? "rowheader" : "cell", scope: n === 0 ? "row" : null, class: columns[n] ? null : "actions", "data-label": columns[n] }, cell))),
      row.below?.length > 0 && h("tr", { role: "row", class: "below", "data-key": `${row.key} below` },
        h("td", { role: "cell", colspan: columns.length }, row.below)),
    ])),
  );
}

export function plural(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export function bytes(n) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (n < 1000 || unit === "GB") return `${n < 10 && unit !== "B" ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1000;
  }
}

export function pairs(map) {
  return Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => `${k}=${v}`);
}

// clock is a time of day, to the millisecond.
export function clock(time) {
  const t = new Date(time);
  const two = (n) => String(n).padStart(2, "0");
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}.${String(t.getMilliseconds()).padStart(3, "0")}`;
}

// duration shortens a duration of Go, such as 1m2.345678901s.
export function duration(text) {
  return text.replace(/(\d+)\.(\d+)(?=[a-zµ]+$)/, (_, whole, part) =>
    whole.length > 2 ? whole : `${whole}.${part.slice(0, 3 - whole.length)}`);
}
