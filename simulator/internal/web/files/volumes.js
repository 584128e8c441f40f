// Volumes.

import { h } from "./dom.js";
import { button, mono, titled } from "./parts.js";

export const volumes = {
  collection: "volumes",
  title: "Volumes",
  one: "volume",
  empty: () => ["None. ", h("code", null, "simcloud volume create NAME"), " creates one."],
  columns: ["Volume", "Zones", "Region", ""],
  words: (v) => [v.id, v.name, ...v.zones, v.region],
  row: (v) => ({
    cells: [
      titled(v),
      mono(v.zones.join(", ")),
      mono(v.region),
      button("Delete", { method: "DELETE", path: `volumes/${encodeURIComponent(v.id)}`, about: `volumes/${v.id}`, danger: true }),
    ],
  }),
};
