package console

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
)

//go:embed templates/*.html
var sources embed.FS

//go:embed assets
var assets embed.FS

// kinds are the media types of assets. Those of package mime depend on the machine.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	"":     "text/plain; charset=utf-8",
}

// asset serves the style, the scripts and the icon.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request) {
	name := path.Join("assets", r.PathValue("name"))
	if info, err := fs.Stat(assets, name); err != nil || info.IsDir() {
		h.missing(w, r)
		return
	}
	w.Header().Set("Content-Type", kinds[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=300")
	http.ServeFileFS(w, r, assets, name)
}

// parse returns the templates of a console with the address root. It panics if they are invalid.
func parse(root string) *template.Template {
	return template.Must(template.New("").
		Funcs(functions).
		Funcs(template.FuncMap{"root": func() template.URL { return template.URL(root) }}). //nolint:gosec // configured
		ParseFS(sources, "templates/*.html"))
}
