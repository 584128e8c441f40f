// Routes, in the one table that a cloud has.

import { button, mono, muted, pairs, state, titled } from "./parts.js";

const tones = { active: "good", blackhole: "bad" };

export const routes = {
  collection: "routes",
  title: "Routes",
  one: "route",
  empty: () => "None. The route controller of a cloud-controller-manager makes one for each node.",
  columns: ["Route", "State", "Destination", "Target", ""],
  words: (r) => [r.id, r.name, r.state, r.destination, r.target, ...pairs(r.tags)],
  row: (r, app) => ({
    cells: [
      titled(r, r.tags),
      state(r.state, tones[r.state] ?? "idle"),
      mono(r.destination),
      r.target ? app.nameOf(r.target) : muted("no instance"),
      button("Delete", { method: "DELETE", path: `routes/${encodeURIComponent(r.id)}`, about: `routes/${r.id}`, danger: true }),
    ],
  }),
};
