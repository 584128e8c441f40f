// Package web holds the page that shows a simulated cloud live. The page is an
// ordinary client of the operator's API: it shows what a watch sends, and
// requests changes. It needs no build step and loads nothing from other hosts.
//
// In the folder "files", main.js starts the watch and draws what it sends. Each
// kind of resource has one file, with its columns and its actions; resources.js
// lists these kinds.
package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed files
var embedded embed.FS

// policy is the Content-Security-Policy of the page. It allows only the page's
// own files and requests to its own cloud.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// Handler serves the page at / and its other files under /page/.
func Handler() http.Handler {
	const start = "index.html"
	mux := http.NewServeMux()
	err := fs.WalkDir(embedded, "files", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case entry.Name() == start:
			mux.HandleFunc("GET /{$}", serve(path))
		default:
			mux.HandleFunc("GET /page/"+entry.Name(), serve(path))
		}
		return nil
	})
	if err != nil {
		panic(err) // impossible: the files are embedded in the program
	}
	return mux
}

func serve(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store") // the next start may serve another version
		http.ServeFileFS(w, r, embedded, path)
	}
}
