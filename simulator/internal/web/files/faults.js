// Faults: a switch for each kind, and a form for its settings.

import { request } from "./api.js";
import { h } from "./dom.js";
import { plural, problem, table } from "./parts.js";

// Settings that only some kinds have. A setting that is not in this list gets a
// plain text field.
const settings = {
  latency: { label: "Latency", initial: "1s", hint: "such as 300ms" },
  jitter: { label: "Jitter", hint: "at most that much longer" },
  rate: { label: "Rate", initial: "1", number: true, hint: "calls a second" },
  burst: { label: "Burst", number: true, hint: "one second's" },
  tokens: { label: "Allowed at once now", number: true, hint: "the burst" },
  status: { label: "Status", number: true, hint: "403 or 401" },
  fraction: { label: "Fraction", number: true, hint: "0.5" },
  age: { label: "Age", hint: "1m" },
};

// Settings that every kind has.
const limits = {
  match: { label: "Only resources like", hint: "node-1*" },
  probability: { label: "Probability", number: true, hint: "always" },
  skip: { label: "Spare the first", number: true, hint: "0 calls" },
  count: { label: "Hit at most", number: true, hint: "no limit" },
};

export function faults(app) {
  const known = app.cloud?.faultKinds ?? [];
  const on = app.faults.items;
  return [
    h("div", { class: "head" },
      h("h2", { id: "faults-title" }, "Faults ", h("span", { class: on.length > 0 ? "count alarm" : "count" }, on.length > 0 ? `${on.length} on` : "none")),
      h("button", { type: "button", "data-key": "clear", "data-method": "DELETE", "data-path": "faults", "data-about": "faults", disabled: on.length === 0 }, "Clear all")),
    problem(app, "faults"),
    h("p", { class: "muted hint" }, "They hit customers of the cloud, never this page."),
    h("ul", { class: "switches" }, known.map((kind) => kindItem(kind, app))),
    standing(app.faults.standing ?? []),
  ];
}

function kindItem(kind, app) {
  const set = app.faults.items.filter((f) => f.kind === kind.kind);
  const own = set.find((f) => f.name === kind.kind);
  const open = app.openFault === kind.kind;
  const about = `faults/${kind.kind}`;
  return h("li", { "data-key": kind.kind, class: set.length > 0 ? "on" : null },
    h("div", { class: "switch-line" },
      h("button", {
        type: "button", role: "switch", "aria-checked": own ? "true" : "false", "data-key": "switch", "data-fault": kind.kind,
        "aria-label": `Fault ${kind.kind}`, "aria-describedby": `effect-${kind.kind}`, class: "switch",
      }),
      h("div", { class: "what" },
        h("span", { class: "kind" }, kind.kind), " ",
        h("span", { class: "muted", id: `effect-${kind.kind}` }, kind.effect)),
      h("button", {
        type: "button", class: "plain", "data-key": "adjust", "data-adjust": kind.kind, "aria-expanded": open ? "true" : "false",
        "aria-label": `${open ? "Close" : "Adjust"} fault ${kind.kind}`,
      }, open ? "Close" : "Adjust")),
    set.map((f) => h("p", { class: "active", "data-key": `active ${f.name}` },
      h("span", null, details(f)),
      f !== own && h("button", { type: "button", class: "plain", "data-method": "DELETE", "data-path": `faults/${encodeURIComponent(f.name)}`, "data-about": about, "aria-label": `Clear fault ${f.name}` }, "Clear"))),
    open && form(kind, app.faultFields(kind.kind)),
    problem(app, about));
}

// details says which calls a fault hits, and how many it has hit.
function details(f) {
  const words = [f.name !== f.kind && f.name, f.calls?.length ? f.calls.join(", ") : "all calls", f.match && `only ${f.match}`];
  for (const name of Object.keys(settings)) {
    if (f[name] && name !== "tokens") words.push(`${name} ${f[name]}`);
  }
  if (f.tokens !== undefined) words.push(`${f.tokens} left`);
  if (f.probability) words.push(`probability ${f.probability}`);
  if (f.skip) words.push(`spares the first ${f.skip}`);
  words.push(f.count ? `hit ${f.hits ?? 0} of ${f.count} calls` : `hit ${plural(f.hits ?? 0, "call")}`);
  return words.filter(Boolean).join(" · ");
}

function form(kind, fields) {
  const input = (name, { label, hint, number }) =>
    h("label", null, h("span", null, label),
      h("input", { name, value: fields[name] ?? "", placeholder: hint, inputmode: number ? "decimal" : null, autocomplete: "off", spellcheck: "false" }));
  return h("form", { class: "adjust", "data-key": "form", "data-kind": kind.kind },
    h("div", { class: "fields" },
      kind.settings.map((name) => input(name, settings[name] ?? { label: name })),
      Object.entries(limits).map(([name, field]) => input(name, field)),
      input("name", { label: "Name, to have several", hint: kind.kind })),
    h("fieldset", null,
      h("legend", null, "Only these calls (none means all)"),
      kind.calls.map((call) => h("label", { class: "chip" },
        h("input", { type: "checkbox", name: "calls", value: call, checked: (fields.calls ?? []).includes(call) }), h("span", null, call)))),
    h("div", { class: "buttons end" }, h("button", { type: "submit", class: "main" }, "Set the fault")));
}

// standing shows what was set when the cloud was started. The buckets of the quota have
// a table, because their numbers are compared with each other.
function standing(list) {
  const buckets = list.filter((f) => f.kind === "throttle");
  const others = list.filter((f) => f.kind !== "throttle");
  return [
    others.length > 0 && h("p", { class: "muted hint" }, "Always on, set when the cloud was started: ",
      others.map((f) => `${f.name} (${details({ ...f, name: f.kind })})`).join("; "), "."),
    buckets.length > 0 && h("div", { id: "quota", class: "scroll" },
      h("p", { class: "muted hint" }, "The request quota, set when the cloud was started:"),
      table("Request quota", ["Bucket", "Rate a second", "Burst", "Left", "Refused"], buckets.map((f) => ({
        key: f.name,
        cells: [h("span", { title: f.calls?.join(", ") ?? "all calls" }, f.name), ...[f.rate, f.burst, f.tokens, f.hits ?? 0].map(rounded)],
      })))),
  ];
}

function rounded(number) {
  return number.toLocaleString("en", { maximumFractionDigits: 3 });
}

// initial returns the initial fields of a kind.
export function initial(kind) {
  return Object.fromEntries(kind.settings.map((name) => [name, settings[name]?.initial ?? ""]));
}

// fieldsOf returns the fields of a form.
export function fieldsOf(form) {
  const data = new FormData(form);
  const fields = Object.fromEntries([...data].filter(([name]) => name !== "calls").map(([name, value]) => [name, value.trim()]));
  return { ...fields, calls: data.getAll("calls") };
}

// fieldsFrom returns the fields for a fault that is set. It leaves out what changes by
// itself while the form is open.
export function fieldsFrom(fault) {
  const fields = Object.fromEntries([...Object.keys(settings), ...Object.keys(limits)].filter((name) => fault[name] && name !== "tokens").map((name) => [name, String(fault[name])]));
  return { ...fields, calls: fault.calls ?? [], name: fault.name === fault.kind ? "" : fault.name };
}

// set switches a fault on.
export async function set(kind, fields) {
  const { name, calls, ...rest } = fields;
  const fault = { name: name || kind, kind };
  if (calls?.length) fault.calls = calls;
  for (const [field, text] of Object.entries(rest)) {
    if (text === "") continue;
    const { number, label } = settings[field] ?? limits[field] ?? {};
    if (number && Number.isNaN(Number(text))) throw new Error(`${label}: “${text}” is not a number.`);
    fault[field] = number ? Number(text) : text;
  }
  await request("PUT", `faults/${encodeURIComponent(fault.name)}`, fault);
}
