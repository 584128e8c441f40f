package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// refusedBrowser refuses requests that a browser may have sent for another
// website. It returns the reason, or "" if the request is allowed. The cloud has
// no authentication, and every website can make a browser on this machine send
// requests to it.
//
// Requests that reach the cloud by a host name are refused, unless the name is
// localhost, ends in .localhost or is in allowed, because an attacker can point any
// other name at this machine. They are refused from every program, because a browser
// that reads over HTTP from such a name does not show that it is a browser. In the
// remaining requests a browser names the site for which it sends them. If that is
// another site, the request is refused, unless the user has followed a link to the page.
func refusedBrowser(r *http.Request, allowed []string) string {
	const page = "/" // only browsers request it
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	switch {
	case !isFixedHost(r.Host, allowed):
		return "the simulated cloud must be reached by its IP address or as localhost, not by the name in the request; simcloud serve --allow-host allows a name"
	case site == "" && origin == "" && r.URL.Path != page:
		return ""
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

// isFixedHost reports whether the host, with or without a port, is an IP address,
// localhost, a name that ends in .localhost, or in allowed. An attacker cannot point
// the first three at another machine.
func isFixedHost(host string, allowed []string) bool {
	name := strings.TrimSuffix(strings.ToLower((&url.URL{Host: host}).Hostname()), ".")
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(allowed, name)
}
