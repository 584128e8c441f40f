package simulator

import "net/http"

func (c *Cloud) staticIPEndpoints() []endpoint {
	one := "/static-ips/{id}"
	name := func(s StaticIP) string { return s.Name }
	return []endpoint{
		{http.MethodGet, "/static-ips", ListStaticIPs, listing(c, c.staticIPs, c.showStaticIPs)},
		{http.MethodPost, "/static-ips", CreateStaticIP, creating(name, c.createStaticIP)},
		{http.MethodGet, one, GetStaticIP, onOne(c.staticIP)},
		{http.MethodDelete, one, ReleaseStaticIP, withoutBody(onOne(c.releaseStaticIP))},
	}
}

func (c *Cloud) showStaticIPs(rows []*reserved, next string) any {
	return StaticIPList{Items: c.shownStaticIPs(rows), Continue: next}
}
