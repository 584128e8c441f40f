package api

import (
	"net/http"
	"net/netip"
	"net/url"
)

// refusedBrowser returns why a request of a browser is refused; empty if it is
// not. Everybody who reaches a cloud is its operator, and every website can make
// a browser on this machine send requests to it. Browsers name the site that a
// request comes from: requests of other sites are refused. So are requests of a
// site that has the cloud's own host name, because that name may have been
// pointed at this machine for this purpose, which is impossible with an IP
// address. Programs that are no browser send no such headers and are served.
func refusedBrowser(r *http.Request) string {
	const page = "/" // which only a browser asks for
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	switch {
	case site == "" && origin == "" && r.URL.Path != page:
		return ""
	case !isFixedHost(r.Host):
		return "a browser must reach the simulated cloud by its IP address or as localhost, not as " + r.Host
	case r.Method == http.MethodGet && r.URL.Path == page && r.Header.Get("Sec-Fetch-Mode") == "navigate":
		return "" // somebody follows a link
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

// isFixedHost reports whether the host, with or without a port, always means
// this machine, because no one can change what it resolves to.
func isFixedHost(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	_, err := netip.ParseAddr(name)
	return err == nil || name == "localhost"
}
