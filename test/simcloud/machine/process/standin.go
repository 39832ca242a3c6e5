package process

import "sync"

// published maps the SHA-256 of a file that stands in for a project's release file to the SHA-256 that the project has
// published.
var published sync.Map

// Publish says that a stand-in has the SHA-256 that was published for the real file, so that scripts with pinned
// checksums run unchanged.
func Publish(standIn, real string) { published.Store(standIn, real) }

// Published is the SHA-256 that a program shows for content with this one.
func Published(sum string) string {
	if real, ok := published.Load(sum); ok {
		return real.(string)
	}
	return sum
}
