package api

import (
	"net/http"
	"net/netip"
	"net/url"
)

// refusedBrowser returns why a request of a browser is refused, or "" if it is
// allowed. The cloud has no authentication, and every website can make a
// browser on this machine send requests to it. Browsers name the site that a
// request comes from, and requests of other sites are refused. So are requests
// that reach the cloud by a host name: an attacker can point a name at this
// machine, but not an IP address. Other programs do not send these headers, and
// their requests are allowed.
func refusedBrowser(r *http.Request) string {
	const page = "/" // only browsers request it
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	switch {
	case site == "" && origin == "" && r.URL.Path != page:
		return ""
	case !isFixedHost(r.Host):
		return "a browser must reach the simulated cloud by its IP address or as localhost, not as " + r.Host
	case r.Method == http.MethodGet && r.URL.Path == page && r.Header.Get("Sec-Fetch-Mode") == "navigate":
		return "" // the user has followed a link
	case site != "" && site != "same-origin" && site != "none":
		return "this request comes from another website"
	case origin != "" && hostOf(origin) != r.Host:
		return "this request comes from another website, " + origin
	}
	return ""
}

func hostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Host
}

// isFixedHost reports whether the host, with or without a port, is an IP address
// or localhost. Nobody can make these resolve to another machine.
func isFixedHost(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost"
}
