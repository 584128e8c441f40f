package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// save compresses a picture that the browser has taken to less than half of its size,
// and writes it.
func save(t *testing.T, path string, taken []byte) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&packed, fewColours(picture)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("the picture is %s", path)
}

// fewColours reduces a picture to its 256 most frequent colours. A page has few colours,
// but many shades of them at the edges of letters.
func fewColours(picture image.Image) image.Image {
	bounds := picture.Bounds()
	counts := map[color.Color]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	few := image.NewPaletted(bounds, colours[:min(256, len(colours))])
	draw.Draw(few, bounds, picture, bounds.Min, draw.Src)
	return few
}

// TestPicture takes the picture that is in the docs:
//
//	make test-browser PICTURE=docs/pictures/simulated-cloud.png
//
// With SCHEME=dark it takes the picture of the dark page.
func TestPicture(t *testing.T) {
	if os.Getenv("PICTURE") == "" {
		t.Skip("PICTURE is not set")
	}
	c := startCloud(t, "--max-load-balancers=20", "--max-backends=50")
	address := populate(c)
	p := openLive(t, c)
	p.see(balancersSection, "3 of 4 backends healthy")
	for range 38 {
		connect(t, address)
	}
	p.see(balancersSection, "38 connections")
	behave(c)
	p.see("#calls", "Calls 17")
	p.takePicture("PICTURE")
}

// takePicture writes a picture of the page to the file that the environment variable
// names. It does nothing if the variable is empty.
func (p *page) takePicture(variable string) {
	p.t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		return
	}
	p.prefer(os.Getenv("SCHEME"))
	p.do(chromedp.EmulateViewport(1280, 860))
	taken, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	save(p.t, path, taken)
}

// populate creates the resources of a cluster of four nodes in the cloud. One of
// the nodes is stopped. It returns the address of the load balancer.
func populate(c *cloud) string {
	c.t.Helper()
	backends := startBackends(c.t, 4)
	create := []string{"--listen=8080:" + backends[0].port, "--tag=fairlead.dev/cluster=demo", "--tag=fairlead.dev/service=default/web"}
	for n, b := range backends {
		name := fmt.Sprintf("node-%d", n+1)
		zone, size := []string{"sim-1a", "sim-1b", "sim-1c"}[n%3], []string{"small", "medium", "large"}[n%3]
		c.operate("create", name, "--zone", zone, "--type", size, "--label", fmt.Sprintf("rack=r%d", n%2+1),
			"--address", "InternalIP="+b.address, "--address", fmt.Sprintf("ExternalIP=203.0.113.%d", n+1))
		create = append(create, "--backend="+name)
		c.operate("route create", name, fmt.Sprintf("10.244.%d.0/24", n+1), "--target="+name)
	}
	c.operate("stop node-4")
	said := c.operate("lb create web", create...)
	_, rest, _ := strings.Cut(said, "active: ")
	address, _, _ := strings.Cut(rest, ",")
	return address + ":8080"
}

// behave calls the cloud as a daemon does while something is wrong with one node.
func behave(c *cloud) {
	c.t.Helper()
	for _, path := range []string{"instances", "load-balancers?tag=service=default/web", "load-balancers/lb-00000001", "routes", "static-ips"} {
		c.call(path)
	}
	c.operate("fault set error --calls GetInstance --match node-3")
	for range 3 {
		for n := range 4 {
			c.call(fmt.Sprintf("instances/i-0000000%d", n+1))
		}
	}
}
