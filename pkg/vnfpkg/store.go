package vnfpkg

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Stores gives out the packages of a project or of all.
type Stores interface {
	// PackagesOf returns the packages that a principal sees and creates: those of its project, and shared ones, of
	// which it sees only its own use. A change of a shared package of another project is CodeForbidden. Other packages
	// of other projects do not exist.
	PackagesOf(p lcm.Principal) Store
	// AllPackages returns the packages of all projects, for the engine and for cleaning up. A package that is inserted
	// belongs to lcm.DefaultProject.
	AllPackages() Store
}

// Store keeps packages. Every method is one transaction. Errors are lcm.Error (CodeNotFound where a package or model
// does not exist) or of the database, except for ErrVnfdTaken.
//
// Times are the database's: leases must not depend on the clocks of nodes.
type Store interface {
	// InsertPackage stores a new package and sets its Version, Created and Updated.
	InsertPackage(ctx context.Context, p *Package) error
	// Package returns one package; CodeNotFound also for an id that is no UUID.
	Package(ctx context.Context, id string) (*Package, error)
	// Packages lists in order of id.
	Packages(ctx context.Context, q Query) ([]*Package, error)
	// OnboardedPackage returns the ONBOARDED package with this vnfdId, or CodeNotFound. Only a project has at most one;
	// its own precedes a shared one.
	OnboardedPackage(ctx context.Context, vnfdID string) (*Package, error)

	// OnboardedContent returns the ONBOARDED package of the project itself with content of this digest, or
	// CodeNotFound.
	OnboardedContent(ctx context.Context, digest string) (*Package, error)

	// UpdatePackage locks the package, lets change modify it, and stores it with Version + 1 and Updated = now; an
	// error of change is returned and nothing is stored. This is the compare-and-set of every state transition: change
	// checks the state that it starts from. change may be called again when the transaction has to be repeated, so it
	// must work on nothing but p. In the same transaction the store
	//   - adds the job "vnfpkg.onboard" when change makes the package PROCESSING,
	//   - adds the job "vnfpkg.download" when change sets Download,
	//   - takes the lock of Content.Digest when change sets it, and so waits for a ReleaseContent of that digest,
	//   - fails with ErrVnfdShared when another package with the VnfdID is Shared, too,
	//   - fails with ErrVnfdTaken when another ONBOARDED package has the VnfdID,
	//   - writes an event when one of the three states changed.
	UpdatePackage(ctx context.Context, id string, change func(p *Package, now time.Time) error) (*Package, error)
	// DeletePackage locks the package, so that no instance can begin to refer to it, deletes it unless check refuses,
	// and returns what it was. It is CodeConflict when an instance refers to it, whatever check says.
	DeletePackage(ctx context.Context, id string, check func(p *Package) error) (*Package, error)

	// The other methods work on all projects.

	// RenewUpload moves the lease of an upload to now + lease; ErrUploadLost when the package is not UPLOADING with
	// this token. It changes nothing that users see, so Version stays.
	RenewUpload(ctx context.Context, id, token string, lease time.Duration) error
	// ExpiredUploads lists the ids of packages whose upload's lease is over.
	ExpiredUploads(ctx context.Context) ([]string, error)

	// SaveDownload stores the progress of a download and writes an event; ErrUploadLost when the package is not
	// UPLOADING with the token of d. Version stays, because users see the progress elsewhere.
	SaveDownload(ctx context.Context, id string, d Download) error

	// SavePackageModel stores the model of an archive, or replaces it. It stores nothing if no package refers to the
	// digest, because no ReleaseContent would delete the model then. It is a cache: a model that is not there is made
	// again from the archive.
	SavePackageModel(ctx context.Context, key ModelKey, model json.RawMessage) error
	// PackageModel returns a model, or CodeNotFound.
	PackageModel(ctx context.Context, key ModelKey) (json.RawMessage, error)

	// ReleaseContent takes the digest's lock, and unless a package of any state refers to the digest, deletes its
	// models and calls remove. No package can begin to refer to the digest before remove has returned. It says whether
	// remove was called; an error of remove undoes the deletion of the models.
	ReleaseContent(ctx context.Context, digest string, remove func() error) (bool, error)
}

// Query bounds a list of packages.
type Query struct {
	After string // id after which to start, "" = from the beginning
	Limit int    // number of packages, 0 = all
	Brief bool   // leaves out UserDefinedData and artifacts
	// NoArtifacts leaves out Onboarded.Artifacts: a package can have 50,000.
	NoArtifacts bool
	// Onboarded leaves out packages that are not ONBOARDED.
	Onboarded bool
}

// ModelKey names the model of an archive.
type ModelKey struct {
	Digest string
	// Format is the version of the model's structure; models of other versions are left alone.
	Format int
}

// ErrVnfdTaken is returned when another onboarded package has the same vnfdId.
var ErrVnfdTaken = errors.New("another onboarded package has this vnfdId")

// ErrVnfdShared is returned when another package with the same vnfdId is shared.
var ErrVnfdShared = errors.New("another shared package has this vnfdId")

// ErrUploadLost is returned to an upload that does not own its package any more.
var ErrUploadLost = errors.New("the upload does not own the package any more")
