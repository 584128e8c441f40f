// The cluster beside the cloud, if there is one: what becomes of Nodes and
// Services while a fault is on. The words are those that the
// cloud-controller-manager has written there. Nothing can be changed here.

import { operator } from "./api.js";
import { h } from "./dom.js";
import { clock, mono, muted, state, table } from "./parts.js";

// The pause between two looks at the cluster.
const pause = 1_000;
// A screen reader hears one summary of what has changed within this time.
const announcePause = 2_000;
// At most this many changes are read out. The others are only counted.
const mostAnnounced = 3;

export class Cluster {
  seen = null; // what was read last
  problem = null; // why it could not be read again
  #running = false;
  #held = null; // the reasons of the deletions that waited at the last look, by object; null before the first
  #news = [];
  #announcing = null; // the timer

  // start looks at the cluster again and again. told is called after each look.
  start(told, announce) {
    if (this.#running) return;
    this.#running = true;
    const look = async () => {
      await this.#look(announce);
      told();
      setTimeout(look, pause);
    };
    look();
  }

  async #look(announce) {
    try {
      const answer = await fetch(`${operator}cluster`);
      const body = await answer.json();
      if (!answer.ok) throw new Error(body.error.message);
      [this.seen, this.problem] = [body, null];
      this.#compare(announce);
    } catch (problem) {
      const why = problem instanceof TypeError ? "the simulated cloud does not answer" : problem.message;
      this.problem = `The cluster cannot be shown: ${why}`;
    }
  }

  // compare announces deletions that have begun or ceased to wait.
  #compare(announce) {
    const held = new Map(this.seen.held.map((one) => [object(one), one.reason ?? ""]));
    const before = this.#held;
    this.#held = held;
    if (!before) return;
    for (const [name, reason] of held) {
      if (before.get(name) !== reason) this.#tell(`The deletion of ${name} waits${reason && `: ${reason}`}.`, announce);
    }
    for (const name of before.keys()) {
      if (!held.has(name)) this.#tell(`The deletion of ${name} no longer waits.`, announce);
    }
  }

  #tell(text, announce) {
    this.#news.push(text);
    this.#announcing ??= setTimeout(() => {
      const rest = this.#news.length - mostAnnounced;
      announce(this.#news.slice(0, mostAnnounced).join(" ") + (rest > 0 ? ` ${rest} more.` : ""));
      [this.#news, this.#announcing] = [[], null];
    }, announcePause);
  }
}

const object = (one) => `${one.kind} ${one.name}`;

export function cluster(app) {
  const { seen, problem } = app.cluster;
  return [
    h("div", { class: "head" }, h("h2", { id: "cluster-title" }, "The cluster"), seen && leader(seen.daemon)),
    problem && h("p", { class: "problem", "data-key": "problem" }, h("span", null, problem)),
    !seen && !problem && h("p", { class: "empty" }, "Not known yet."),
    seen && [held(seen), nodes(seen), services(seen), events(seen)],
  ];
}

function leader({ leads, leader }) {
  return h("span", { class: `state ${leads ? "good" : "bad"}`, title: leader }, leads ? "cloud-controller-manager works" : "no cloud-controller-manager works");
}

function part(id, title, count, alarm, ...content) {
  return h("section", { id, class: "part", "data-key": id, "aria-labelledby": `${id}-title` },
    h("h3", { id: `${id}-title` }, title, " ", h("span", { class: alarm ? "count alarm" : "count" }, count.toLocaleString("en"))),
    content);
}

const none = (text) => h("p", { class: "empty" }, text);

function held({ held, time }) {
  return part("held", "Deletions that wait", held.length, held.length > 0,
    held.length === 0
      ? none("None.")
      : h("ul", { class: "held" }, held.map((one) => h("li", { "data-key": object(one) },
        h("p", null, h("strong", null, object(one)), " ", one.reason && mono(one.reason), " ", muted(`for ${lasted(one.since, time)}`)),
        h("p", { class: "said" }, one.message || "It is being deleted.")))));
}

// lasted is the time between two moments, in whole seconds or minutes.
function lasted(since, until) {
  const seconds = Math.max(0, Math.round((new Date(until) - new Date(since)) / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
}

function nodes({ nodes }) {
  return part("nodes", "Nodes", nodes.length, false, nodes.length === 0
    ? none("None.")
    : h("div", { class: "scroll" }, table("Nodes", ["Node", "Conditions", "Taints"], nodes.map((n) => ({
      key: n.name,
      cells: [
        [h("strong", null, n.name), n.id && muted(mono(n.id)), n.deleting && state("being deleted", "moving")],
        conditions(n),
        n.taints?.length > 0 ? n.taints.map((taint) => h("span", { class: "line taint" }, taint)) : muted("none"),
      ],
    })), "cards")));
}

function services({ services }) {
  return part("services", "Services", services.length, false, services.length === 0
    ? none("None of type LoadBalancer.")
    : h("div", { class: "scroll" }, table("Services", ["Service", "Conditions", "Address"], services.map((s) => ({
      key: s.name,
      cells: [
        [h("strong", null, s.name), s.deleting && state("being deleted", "moving")],
        conditions(s),
        s.addresses?.length > 0 ? s.addresses.map((address) => h("span", { class: "line" }, mono(address))) : muted("none yet"),
      ],
    })), "cards")));
}

// conditions shows each condition. One that is not good has its message, too.
function conditions({ conditions }) {
  if (conditions.length === 0) return muted("none");
  return h("ul", { class: "conditions" }, conditions.map((c) => h("li", { "data-key": c.type, class: c.good ? null : "whole" },
    state(`${c.type} ${c.status}`, c.good ? "good" : c.status === "Unknown" ? "moving" : "bad"), " ", c.reason && muted(c.reason),
    !c.good && c.message && h("span", { class: "said" }, c.message))));
}

function events({ events }) {
  return part("events", "What the daemon reported last", events.length, false, events.length === 0
    ? none("Nothing yet.")
    : h("div", { class: "scroll events", tabindex: "0", role: "region", "aria-label": "What the daemon reported last" },
      table("Events, the newest first", ["Time", "Object", "Reason", "Message"], events.map((e) => ({
        key: `${e.time} ${e.kind} ${e.name} ${e.reason} ${e.message}`,
        tone: e.type === "Warning" ? "failed" : null,
        cells: [
          h("time", { datetime: e.time }, clock(e.time).slice(0, 8)),
          object(e),
          [h("span", { class: e.type === "Warning" ? "wrong" : null }, e.reason), e.count > 1 && muted(` ${e.count} times`)],
          e.message,
        ],
      })))));
}
