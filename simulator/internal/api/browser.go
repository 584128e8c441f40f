package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// refusedBrowser refuses requests that a browser may have sent for another
// website. It returns the reason, or "" if the request is allowed. The check is
// needed because the cloud has no authentication, and any website can make a
// browser on this machine send requests to the cloud.
//
// The host of a request must be an IP address, localhost, a name that ends in
// .localhost, or an allowed name. An attacker can point any other name at this machine.
// A request with such a name is refused even if it does not seem to come from a
// browser. The reason is that a browser sends none of the headers that this function
// checks when it reads from such a name over plain HTTP. For other hosts, the headers
// of a browser say which website sends the request. A request from another website is
// refused, unless the user has followed a link to the page.
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
// localhost, a name that ends in .localhost, or an allowed name. An attacker cannot
// point the first three at another machine.
func isFixedHost(host string, allowed []string) bool {
	name := strings.TrimSuffix(strings.ToLower((&url.URL{Host: host}).Hostname()), ".")
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(allowed, name)
}
