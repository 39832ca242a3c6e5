package contract

import (
	"crypto/md5"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// upload makes an image of 1000 bytes that goes with the test.
func (c *cloud) upload(name string, tags ...string) string {
	c.t.Helper()
	r := c.call(http.MethodPost, "glance", "/images", obj{
		"name": name, "disk_format": "raw",
		"container_format": "bare", "visibility": "private", "tags": append([]string{}, tags...),
	})
	require.Equal(c.t, http.StatusCreated, r.status, r.text)
	id := r.str("id")
	c.t.Cleanup(func() { c.call(http.MethodDelete, "glance", "/images/"+id, nil) })
	c.fact("an image without content is queued", r.str("status") == "queued" && r.get("size") == nil, r.text)
	r = c.callWith(http.MethodPut, "glance", "/images/"+id+"/file", strings.Repeat("x", 1000),
		obj{"Content-Type": "application/octet-stream"})
	c.answers("content is answered 204", http.StatusNoContent, r)
	return id
}

func TestImages(t *testing.T) {
	t.Parallel()
	c := connect(t, "images")
	tag := fresh("tag")
	a, b := c.upload("contract-a", tag, "other"), c.upload("contract-b", tag)
	r := c.call(http.MethodGet, "glance", "/images/"+a, nil)
	c.same("an image is active when its content is there, and knows its size and checksum",
		[]any{"active", 1000.0, fmt.Sprintf("%x", md5.Sum([]byte(strings.Repeat("x", 1000))))},
		[]any{r.get("status"), r.get("size"), r.get("checksum")})
	c.same("and its hash", []any{"sha512", 128}, []any{r.get("os_hash_algo"), len(r.str("os_hash_value"))})
	r = c.call(http.MethodGet, "glance", "/images?tag="+tag, nil)
	found := names(r.list("images"), "id")
	c.fact("a tag finds images", len(found) == 2 && slices.Contains(found, a) && slices.Contains(found, b), found)
	c.same("two tags those that have both", []string{a}, names(
		c.call(http.MethodGet, "glance", "/images?tag="+tag+"&tag=other", nil).list("images"), "id",
	))
	r = c.call(http.MethodGet, "glance", "/images?limit=1&tag="+tag, nil)
	c.fact("a page that is not the last names the next", len(r.list("images")) == 1 && strings.HasPrefix(r.str("next"),
		"/v2/images?") && strings.Contains(r.str("next"), "marker="+r.str("images", 0, "id")), r.text)
	rest := slices.DeleteFunc([]string{a, b}, func(id string) bool { return id == r.str("images", 0, "id") })
	r = c.request(http.MethodGet, strings.TrimSuffix(c.url("glance"), "/v2")+r.str("next"), c.token, nil, nil)
	c.same("which has the rest", rest, names(r.list("images"), "id"))
	r = c.callWith(http.MethodPut, "glance", "/images/"+a+"/file", "y", obj{"Content-Type": "application/octet-stream"})
	c.answers("content cannot be sent twice", http.StatusConflict, r)
	c.answers("a delete is answered 204", http.StatusNoContent, c.call(http.MethodDelete, "glance", "/images/"+a, nil))
	r = c.call(http.MethodGet, "glance", "/images/"+a, nil)
	c.fact("an image that is gone is not found", r.status == http.StatusNotFound && r.str("code") == "404 Not Found" &&
		r.str("message") == "No image found with ID "+a+"<br /><br />\n\n\n", r.status, r.text)
	r = c.callWith(http.MethodGet, "glance", "/images/"+a, nil, obj{"Accept": "text/html"})
	c.fact("errors are HTML for those who do not ask for JSON",
		r.status == http.StatusNotFound && strings.Contains(r.text, "<h1>404 Not Found</h1>"), r.status, r.text)
	r = c.call(
		http.MethodPost, "glance", "/images", obj{"name": "x", "disk_format": "floppy", "container_format": "bare"},
	)
	c.fact("an unknown format is refused", r.status == http.StatusBadRequest && r.str("title") == "Bad Request",
		r.status, r.text)
}
