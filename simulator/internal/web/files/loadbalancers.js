// Load balancers and their traffic.

import { h } from "./dom.js";
import { button, bytes, mono, muted, pairs, plural, state, table, titled } from "./parts.js";

const tones = { active: "good", pending: "moving" };
const healthTones = { healthy: "good", checking: "moving", draining: "idle", unhealthy: "bad" };

export const loadBalancers = {
  collection: "load-balancers",
  title: "Load balancers",
  one: "load balancer",
  empty: () => ["None. A Service of type LoadBalancer makes one, and so does ", h("code", null, "simcloud lb create NAME --listen 80:30080 --backend INSTANCE"), "."],
  columns: ["Load balancer", "State", "Address", "Listeners", ""],
  words: (l) => [l.id, l.name, l.state, l.address, ...l.backends, ...pairs(l.tags)],
  row(l, app) {
    return {
      cells: [
        titled(l),
        state(l.state, tones[l.state] ?? "idle"),
        [l.address ? mono(l.address) : muted("none yet"), l.staticIP && muted(`static IP ${app.nameOf(l.staticIP)}`)],
        l.listeners.map((listener) => listenerLine(l, listener)),
        button("Delete", { method: "DELETE", path: `load-balancers/${encodeURIComponent(l.id)}`, about: `load-balancers/${l.id}`, danger: true }),
      ],
      below: [backends(l, app), settings(l)],
    };
  },
};

function listenerLine(l, { protocol, port, backendPort }) {
  const carried = l.traffic?.listeners.find((t) => t.protocol === protocol && t.port === port);
  const elsewhere = carried?.address && !carried.address.endsWith(`:${port}`);
  return h("span", { class: "line" },
    protocol, " ", mono(`${port} → ${backendPort}`),
    elsewhere && muted(" really at ", mono(carried.address)),
    carried && muted(` ${plural(carried.connections, "connection")}`,
      carried.rejected > 0 && `, ${carried.rejected} found no backend`,
      carried.denied > 0 && `, ${carried.denied} denied`),
    carried?.problem && h("span", { class: "wrong" }, ` ${carried.problem}`));
}

// At most this many backends are shown, unhealthy ones first. The others are only
// counted.
const mostBackends = 20;

function backends(l, app) {
  if (l.backends.length === 0 && !l.traffic?.backends.length) return h("p", { class: "empty" }, "No backends.");
  const carried = l.traffic?.backends ?? l.backends.map((instance) => ({ instance }));
  const healthy = carried.filter((b) => b.health === "healthy").length;
  const many = carried.length > mostBackends;
  const shown = many ? carried.toSorted((a, b) => (a.health === "healthy") - (b.health === "healthy")).slice(0, mostBackends) : carried;
  const label = l.traffic ? `Backends: ${healthy} of ${l.backends.length} healthy` : "Backends";
  return h("div", { class: "backends", tabindex: "0", role: "region", "aria-label": `${label}, of ${l.name}` },
    l.traffic && h("p", { class: `verdict ${healthy === 0 ? "bad" : healthy < l.backends.length ? "moving" : "good"}` },
      !many && h("span", { class: "bar", "aria-hidden": "true" }, carried.map((b) => h("i", { class: healthTones[b.health] }))),
      `${healthy} of ${plural(l.backends.length, "backend")} healthy`),
    table(`${label}, of ${l.name}`, ["Backend", "Health", "Open", "Connections", "Failures", "Received", "Sent"], shown.map((b) => ({
      key: b.instance,
      cells: [
        h("span", { title: b.instance }, app.nameOf(b.instance)),
        b.health ? [state(b.health, healthTones[b.health] ?? "idle"), b.why && h("span", { class: "muted why" }, b.why)] : muted("not checked"),
        ...(b.health ? [b.open, b.connections, b.failures].map((n) => n.toLocaleString("en")).concat(bytes(b.bytesIn), bytes(b.bytesOut)) : ["", "", "", "", ""]),
      ],
    }))),
    many && h("p", { class: "empty" }, `${carried.length - mostBackends} more.`));
}

// settings shows the settings and tags of a load balancer.
function settings(l) {
  const check = l.healthCheck ?? {};
  const words = [
    check.port ? `health check: ${check.path ? `HTTP ${check.path}` : "TCP"} at port ${check.port}` : "health check: TCP at each backend port",
    `lets in ${(l.sourceRanges ?? []).join(", ") || "no one"}`,
    l.affinity && `keeps a client with its backend for ${l.affinity}`,
    l.drain && `drains for ${l.drain}`,
  ];
  return h("p", { class: "muted settings" }, [...words.filter(Boolean), ...pairs(l.tags)].join(" · "));
}
