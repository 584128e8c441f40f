// Calls of the cloud's customers, the newest first.

import { h } from "./dom.js";
import { clock, duration, mono, muted, plural, problem, table } from "./parts.js";

// How many calls are kept, and how many of them are shown.
const keptCalls = 1000;
const shownCalls = 150;
// A screen reader hears one summary of the calls within this time.
const announcePause = 3_000;

export class Calls {
  kept = []; // the newest first
  held = []; // calls that arrived while paused, the newest first
  counters = [];
  paused = false;
  failedOnly = false;
  filter = "";
  number = 0;
  missed = 0;
  #unannounced = { all: 0, failed: 0 };
  #announcing = null; // the timer

  // add takes the event "calls" of a watch.
  add({ fresh, missed, last, counters }, announce) {
    this.counters = counters;
    const news = last.map((call) => ({ ...call, number: ++this.number })).reverse();
    if (fresh) {
      this.missed = 0;
      this.kept = [];
      this.held = [];
    } else {
      this.missed += missed;
      if (news.length > 0) this.#tell(news, announce);
    }
    if (this.paused) this.held = [...news, ...this.held].slice(0, keptCalls);
    else this.kept = [...news, ...this.kept].slice(0, keptCalls);
  }

  pause(paused) {
    this.paused = paused;
    if (!paused) {
      this.kept = [...this.held, ...this.kept].slice(0, keptCalls);
      this.held = [];
    }
  }

  #tell(news, announce) {
    this.#unannounced.all += news.length;
    this.#unannounced.failed += news.filter(failed).length;
    this.#announcing ??= setTimeout(() => {
      const { all, failed: wrong } = this.#unannounced;
      announce(`${plural(all, "new call")}${wrong > 0 ? `, ${wrong} failed` : ""}`);
      this.#unannounced = { all: 0, failed: 0 };
      this.#announcing = null;
    }, announcePause);
  }
}

const failed = (call) => call.result !== "OK";

export function calls(app) {
  const c = app.calls;
  const total = sum(c.counters);
  const wrong = sum(c.counters.filter(failed));
  return [
    h("div", { class: "head" },
      h("h2", { id: "calls-title" }, "Calls ", h("span", { class: "count" }, total.toLocaleString("en"))),
      wrong > 0 && h("span", { class: "count alarm" }, `${wrong.toLocaleString("en")} failed`),
      h("button", { type: "button", "data-key": "pause", "data-pause": true, "aria-pressed": c.paused ? "true" : "false" },
        c.paused ? `Resume${c.held.length > 0 ? ` (${c.held.length} new)` : ""}` : "Pause"),
      h("button", { type: "button", "data-key": "forget", "data-method": "POST", "data-path": "calls/reset", "data-about": "calls", disabled: total === 0 }, "Forget")),
    problem(app, "calls"),
    total > 0 && h("div", { class: "tools", "data-key": "tools" },
      h("input", { type: "search", "data-key": "filter", "data-calls-filter": true, placeholder: "Filter: call, resource, result", "aria-label": "Filter calls" }),
      h("label", { class: "chip" }, h("input", { type: "checkbox", "data-failed": true }), h("span", null, "failed only"))),
    list(c, app, total),
    total > 0 && counts(c.counters),
  ];
}

function list(c, app, total) {
  if (total === 0) {
    return h("p", { class: "empty" }, "None yet. They appear here as customers make them: a cloud-controller-manager, or ",
      h("code", null, "simcloud list --as customer"), ".");
  }
  const wanted = c.filter.toLowerCase();
  const found = c.kept.filter((call) => (!c.failedOnly || failed(call)) && (!wanted || words(call, app).join(" ").toLowerCase().includes(wanted)));
  if (found.length === 0) return h("p", { class: "empty" }, "None of the last calls matches the filter.");
  const hidden = found.length - shownCalls;
  return h("div", { class: "scroll calls", tabindex: "0", role: "region", "aria-label": "The last calls" },
    table("Calls, the newest first", ["Time", "Call", "Resource", "Result", "Took"], found.slice(0, shownCalls).map((call) => row(call, app))),
    hidden > 0 && h("p", { class: "empty" }, `${plural(hidden, "older call")} not shown. A filter finds them.`),
    c.missed > 0 && h("p", { class: "empty" }, `${plural(c.missed, "call")} came too fast to be shown. All are counted.`));
}

function row(call, app) {
  const id = resource(call);
  const name = app.nameOf(id);
  return {
    key: `call ${call.number}`,
    tone: failed(call) ? "failed" : null,
    cells: [
      h("time", { datetime: call.time }, clock(call.time)),
      call.call,
      id ? h("span", { title: name === id ? id : `${name} (${id})` }, name) : muted("–"),
      h("span", { class: failed(call) ? "wrong" : null, title: call.result }, call.status > 0 && `${call.status} `, call.result),
      mono(duration(call.duration)),
    ],
  };
}

// resource returns the ID or name of the resource that a call was about.
function resource({ time, call, status, result, duration, number, ...about }) {
  return Object.values(about)[0] ?? "";
}

const words = (call, app) => [call.call, resource(call), app.nameOf(resource(call)), call.status, call.result];

const sum = (counters) => counters.reduce((n, c) => n + c.count, 0);

function counts(counters) {
  const calls = new Map();
  for (const c of counters) calls.set(c.call, [...(calls.get(c.call) ?? []), c]);
  return h("details", { class: "counts" },
    h("summary", null, "Counts, by call"),
    table("Counts, by call", ["Call", "Count", "Results"], [...calls].map(([call, results]) => ({
      key: call,
      cells: [call, sum(results).toLocaleString("en"), results.map((r) => `${r.result} ${r.count.toLocaleString("en")}`).join(", ")],
    }))));
}
