// The page. A watch updates app, and the page draws app. A button sends a
// request, and never changes app itself: the change arrives through the watch.

import { request, watch } from "./api.js";
import { Calls, calls } from "./calls.js";
import { Cluster, cluster } from "./cluster.js";
import { h, show } from "./dom.js";
import * as fault from "./faults.js";
import { edit } from "./instances.js";
import { plural } from "./parts.js";
import { kinds, sections } from "./resources.js";

const app = {
  live: null, // whether the watch is connected; null before the first connection
  lostAt: null,
  cloud: null,
  lists: {}, // by collection
  names: new Map(), // by ID
  faults: { items: [], standing: [] },
  calls: new Calls(),
  cluster: new Cluster(),
  problems: new Map(), // by what they are about
  filters: {}, // by collection
  openFault: null,
  fields: {}, // of the forms of faults, by kind

  nameOf: (id) => app.names.get(id) ?? id,
  faultFields(kind) {
    return (app.fields[kind] ??= fault.initial(app.cloud.faultKinds.find((k) => k.kind === kind)));
  },
};

const byId = (id) => document.getElementById(id);

// ---- drawing

let drawing = false;

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    show(byId("summary"), summary());
    drawCluster();
    show(byId("resources"), sections(app));
    show(byId("faults"), fault.faults(app));
    show(byId("calls"), calls(app));
    drawLost();
  });
}

function summary() {
  const words = { null: "connecting", true: "live", false: "connection lost" };
  return [
    h("ul", { class: "totals", "aria-label": "Summary" },
      kinds.map((kind) => total(kind, app.lists[kind.collection]))),
    h("p", { class: "muted about" }, about(app.cloud)),
    h("span", { id: "live", class: `state ${app.live ? "good" : app.live === null ? "moving" : "bad"}`, role: "status" }, words[app.live]),
  ];
}

function total(kind, list) {
  if (!list) return null;
  const [n, words] = [list.length, plural(list.length, kind.one)];
  return h("li", null, h("strong", null, n.toLocaleString("en")), words.slice(words.indexOf(" ")));
}

// about describes the limits and settings of the cloud.
function about(cloud) {
  if (!cloud) return "";
  return [
    !cloud.traffic && "load balancers carry no traffic",
    cloud.maxLoadBalancers && `at most ${plural(cloud.maxLoadBalancers, "load balancer")}`,
    cloud.maxBackends && `at most ${plural(cloud.maxBackends, "backend")} each`,
    cloud.maxRoutes && `at most ${plural(cloud.maxRoutes, "route")}`,
    cloud.uniqueRoutes && "one route for each destination",
    `lists in pages of ${cloud.pageSize}`,
    `started at ${new Date(cloud.started).toLocaleTimeString("en-GB")}`,
  ].filter(Boolean).join(" · ");
}

function drawCluster() {
  for (const id of ["cluster", "skip-cluster"]) byId(id).hidden = !app.cloud?.cluster;
  if (app.cloud?.cluster) show(byId("cluster"), cluster(app));
}

function drawLost() {
  document.body.dataset.live = String(app.live);
  const lost = byId("lost");
  lost.hidden = app.live !== false;
  const text = app.lostAt
    ? `The connection to the simulated cloud is lost. This is what was seen until ${app.lostAt}. The page connects again by itself.`
    : `There is no connection to the simulated cloud. The page goes on trying.`;
  if (!lost.hidden && lost.textContent !== text) lost.textContent = text;
}

function announce(text, id = "announcement") {
  byId(id).textContent = text;
}

// ---- events of the watch

const events = {
  cloud(cloud) {
    app.cloud = cloud;
    if (cloud.cluster) app.cluster.start(draw, (text) => announce(text, "cluster-announcement"));
  },
  faults(list) {
    app.faults = list;
  },
  calls(news) {
    app.calls.add(news, announce);
  },
};
for (const { collection } of kinds) {
  events[collection] = (list) => {
    app.lists[collection] = list.items;
    app.names = new Map(kinds.flatMap((kind) => (app.lists[kind.collection] ?? []).map((item) => [item.id, item.name])));
    for (const about of app.problems.keys()) {
      const [of, id] = about.split("/");
      if (of === collection && !list.items.some((item) => item.id === id)) app.problems.delete(about);
    }
  };
}

watch(
  Object.keys(events),
  (event, data) => {
    events[event]?.(data);
    if (event !== "beat") draw();
  },
  (live) => {
    if (app.live === live) return;
    if (app.live && !live) app.lostAt = new Date().toLocaleTimeString("en-GB");
    app.live = live;
    draw();
  },
);

// ---- buttons and forms

// attempt runs a function, and shows its error beside the thing it is about.
async function attempt(about, what, button) {
  button?.setAttribute("aria-busy", "true");
  app.problems.delete(about);
  try {
    await what();
  } catch (problem) {
    app.problems.set(about, problem.message);
  } finally {
    button?.removeAttribute("aria-busy");
    draw();
  }
}

const presses = {
  path(button) {
    const { method, path, body, about } = button.dataset;
    attempt(about, () => request(method, path, body && JSON.parse(body)), button);
  },
  dismiss(button) {
    app.problems.delete(button.dataset.dismiss);
  },
  create() {
    edit(null);
  },
  edit(button) {
    edit(app.lists.instances.find((i) => i.id === button.dataset.edit));
  },
  fault(button) {
    const kind = button.dataset.fault;
    const on = button.getAttribute("aria-checked") === "true";
    const fields = { ...app.faultFields(kind), name: "" };
    attempt(`faults/${kind}`, () => (on ? request("DELETE", `faults/${kind}`) : fault.set(kind, fields)), button);
  },
  adjust(button) {
    const kind = button.dataset.adjust;
    app.openFault = app.openFault === kind ? null : kind;
    const set = app.faults.items.find((f) => f.name === kind && f.kind === kind);
    if (app.openFault && set) app.fields[kind] = { ...fault.initial(app.cloud.faultKinds.find((k) => k.kind === kind)), ...fault.fieldsFrom(set) };
  },
  pause() {
    app.calls.pause(!app.calls.paused);
  },
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const press = button && Object.keys(presses).find((name) => name in button.dataset);
  if (!press) return;
  presses[press](button);
  draw();
});

document.addEventListener("input", (event) => {
  const { target } = event;
  if ("filter" in target.dataset) app.filters[target.dataset.filter] = target.value;
  else if ("callsFilter" in target.dataset) app.calls.filter = target.value;
  else if ("failed" in target.dataset) app.calls.failedOnly = target.checked;
  else if (target.form?.dataset.kind) app.fields[target.form.dataset.kind] = fault.fieldsOf(target.form);
  else return;
  draw();
});

document.addEventListener("submit", (event) => {
  const { kind } = event.target.dataset;
  if (!kind) return;
  event.preventDefault();
  const fields = fault.fieldsOf(event.target);
  attempt(`faults/${kind}`, async () => {
    await fault.set(kind, fields);
    app.openFault = null;
  });
});

byId("host").textContent = location.host;
draw();
