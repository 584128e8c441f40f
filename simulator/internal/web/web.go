// Package web holds the page of a simulated cloud, which shows it live. The
// page is an ordinary client of the cloud's API. It shows what a watch sends,
// and makes its changes as the operator. It needs no build step and fetches
// nothing from elsewhere.
//
// In files, main.js brings together the watch and what shows it. Each kind of
// resource has one file, which says what is shown of it and what can be done to
// it; resources.js lists them.
package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed files
var embedded embed.FS

// policy lets the page run its own scripts and speak to its own cloud, and
// nothing else.
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
		panic(err) // the files are part of the program
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
