// The kinds of resources, in the order in which they are shown. A new kind needs
// a file and a line here. A kind is an object with
//
//   collection     its name in the API: operator/v1/<collection>
//   title, one     the name of the kind, in plural and in singular
//   empty          what is shown while there are none
//   columns        headings; an empty one is the column of actions
//   row(item, app) {cells, below} of one resource; one cell for each column
//   words(item)    the text that the filter searches
//   create         optional: the label of a button that calls app.create[collection]

import { h } from "./dom.js";
import { instances } from "./instances.js";
import { loadBalancers } from "./loadbalancers.js";
import { problem, table } from "./parts.js";
import { routes } from "./routes.js";
import { staticIPs } from "./staticips.js";
import { volumes } from "./volumes.js";

export const kinds = [instances, loadBalancers, routes, staticIPs, volumes];

// At most this many rows are shown. The filter finds the others.
const mostRows = 200;
// A list with fewer rows has no filter.
const fewRows = 8;

export function sections(app) {
  return kinds.map((kind) => section(kind, app));
}

function section(kind, app) {
  const { collection } = kind;
  const all = app.lists[collection] ?? [];
  const filter = (app.filters[collection] ?? "").toLowerCase();
  const found = filter ? all.filter((item) => kind.words(item).join(" ").toLowerCase().includes(filter)) : all;
  const rows = found.slice(0, mostRows).map((item) => {
    const { cells, below = [] } = kind.row(item, app);
    return { key: item.id, cells, below: [problem(app, `${collection}/${item.id}`), ...below].filter(Boolean) };
  });
  return h(
    "section",
    { class: "panel", id: collection, "data-key": collection, "aria-labelledby": `${collection}-title` },
    h("div", { class: "head" },
      h("h2", { id: `${collection}-title` }, kind.title, " ", h("span", { class: "count" }, all.length.toLocaleString("en"))),
      (all.length > fewRows || filter) && h("input", { type: "search", "data-key": "filter", "data-filter": collection, placeholder: "Filter", "aria-label": `Filter ${kind.title.toLowerCase()}` }),
      kind.create && h("button", { type: "button", "data-key": "create", "data-create": collection }, kind.create)),
    all.length === 0 ? h("p", { class: "empty" }, app.lists[collection] ? kind.empty(app) : "Not known yet.") : null,
    all.length > 0 && found.length === 0 ? h("p", { class: "empty" }, `None of ${all.length.toLocaleString("en")} matches “${app.filters[collection]}”.`) : null,
    rows.length > 0 ? h("div", { class: "scroll" }, table(kind.title, kind.columns, rows, "cards")) : null,
    found.length > mostRows && h("p", { class: "empty" }, `${mostRows} of ${found.length.toLocaleString("en")} are shown. The filter finds the others.`),
  );
}
