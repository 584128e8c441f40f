// Static IPs.

import { h } from "./dom.js";
import { button, mono, muted, titled } from "./parts.js";

export const staticIPs = {
  collection: "static-ips",
  title: "Static IPs",
  one: "static IP",
  empty: () => ["None. ", h("code", null, "simcloud ip reserve NAME"), " reserves one."],
  columns: ["Static IP", "Address", "Used by", ""],
  words: (ip) => [ip.id, ip.name, ip.address, ip.loadBalancer],
  row(ip, app) {
    return {
      cells: [
        titled(ip),
        mono(ip.address),
        ip.loadBalancer ? app.nameOf(ip.loadBalancer) : muted("unused"),
        button("Release", { method: "DELETE", path: `static-ips/${encodeURIComponent(ip.id)}`, about: `static-ips/${ip.id}`, danger: true }),
      ],
    };
  },
};
