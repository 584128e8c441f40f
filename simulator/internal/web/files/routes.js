// Routes.

import { h } from "./dom.js";
import { button, mono, muted, pairs, state, titled } from "./parts.js";

const tones = { active: "good", blackhole: "bad" };

export const routes = {
  collection: "routes",
  title: "Routes",
  one: "route",
  empty: () => ["None. The route controller of a cloud-controller-manager makes one for each pod CIDR, and so does ", h("code", null, "simcloud route create NAME 10.244.1.0/24 --target INSTANCE"), "."],
  columns: ["Route", "State", "Destination", "Target", ""],
  words: (r) => [r.id, r.name, r.state, r.destination, r.target, ...(r.targetAddresses ?? []).map((a) => a.address), ...pairs(r.tags)],
  row: (r, app) => ({
    cells: [
      titled(r, r.tags),
      state(r.state, tones[r.state] ?? "idle"),
      mono(r.destination),
      target(r, app),
      button("Delete", { method: "DELETE", path: `routes/${encodeURIComponent(r.id)}`, about: `routes/${r.id}`, danger: true }),
    ],
  }),
};

function target(r, app) {
  if (!r.target) return muted("no instance");
  return [
    h("span", { title: r.target }, app.nameOf(r.target)),
    r.state === "blackhole" && muted(why(r, app)),
    (r.targetAddresses ?? []).map((a) => h("span", { class: "line" }, mono(a.address), " ", muted(a.type))),
  ];
}

// why says why a route with a target drops packets.
function why(r, app) {
  const instance = (app.lists.instances ?? []).find((i) => i.id === r.target);
  return instance ? `the instance is ${instance.state}` : "the instance is gone";
}
