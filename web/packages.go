package web

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// packagesData is what the list of packages shows.
type packagesData struct {
	Rows  []*packageData
	Next  string
	Later bool
}

// packageData is what the screen of a package shows.
type packageData struct {
	sol.VnfPkgInfo
	Name string
	// Onboarding is the onboarding state, or REFUSED when the content that was uploaded last was.
	Onboarding       string
	Created, Changed time.Time
	Size             int64
	Files            []string
	Props            []pair
	// Sharing is SHARED for a package of this project that all can use, FOREIGN for one of another project, or "".
	Sharing string
	// Signature is what the signatures of the package say; nil if it was not onboarded or not checked.
	Signature *signature.Result
	Checks    []checkData
}

// checkData is a check of the signature.
type checkData struct {
	signature.Check
	State string
}

// SignatureState is the state of the signature for its badge: a failed check does not mean that the package failed.
func (d *packageData) SignatureState() string {
	if d.Signature.State == signature.Failed {
		return "UNTRUSTED"
	}
	return string(d.Signature.State)
}

// packageOf is a package as a project sees it.
func packageOf(p *vnfpkg.Package, project string) *packageData {
	d := &packageData{
		VnfPkgInfo: p.Info(), Onboarding: string(p.OnboardingState), Created: p.Created, Changed: p.Updated,
		Props: flatten(p.UserDefinedData, redact.New()),
	}
	d.Name = cmp.Or(d.VnfProductName, "Package "+cut(p.ID, 9))
	if p.Failure != nil && p.OnboardingState == sol.PackageOnboardingStateCreated {
		d.Onboarding = "REFUSED"
	}
	if p.Shared {
		d.Sharing = "SHARED"
		if cmp.Or(p.Project, lcm.DefaultProject) != cmp.Or(project, lcm.DefaultProject) {
			d.Sharing = "FOREIGN"
		}
	}
	if p.Content != nil {
		d.Size = p.Content.Size
	}
	if o := p.Onboarded; o != nil {
		d.Files = o.VnfdFiles
		if o.Signature != nil && o.Signature.State != signature.NotChecked {
			d.Signature = o.Signature
			for _, c := range o.Signature.Checks {
				d.Checks = append(d.Checks, checkData{c, strings.ToUpper(string(c.Outcome))})
			}
		}
	}
	return d
}

// packages is the screen of all packages.
func (c *console) packages(ctx context.Context, a ask) (view, error) {
	all, err := c.Packages.List(ctx, vnfpkg.Query{After: a.after, Limit: pageSize + 1, Brief: true})
	if err != nil {
		return view{}, err
	}
	d := &packagesData{Later: a.after != ""}
	if len(all) > pageSize {
		all = all[:pageSize]
		d.Next = all[pageSize-1].ID
	}
	for _, p := range all {
		d.Rows = append(d.Rows, packageOf(p, c.project))
	}
	slices.SortStableFunc(d.Rows, func(x, y *packageData) int { return cmp.Compare(x.Name, y.Name) })
	return view{Title: "VNF packages", Data: d}, nil
}

// pkg is the screen of one package.
func (c *console) pkg(ctx context.Context, a ask) (view, error) {
	p, err := c.Packages.Get(ctx, a.id)
	if err != nil {
		return view{}, err
	}
	d := packageOf(p, c.project)
	return view{Title: d.Name, Data: d}, nil
}

// nodeData is a node on the screen of nodes.
type nodeData struct {
	gybeapi.Node
	State string
}

// silent is how long a node may not be seen before that shows; it is seen every ten seconds.
const silent = 30 * time.Second

// nodes is the screen of all nodes. There are no events of nodes, so it looks now and then.
func (c *console) nodes(ctx context.Context, _ ask) (view, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return view{}, err
	}
	out := make([]nodeData, len(nodes))
	for n, node := range nodes {
		state := "ALIVE"
		switch {
		case !node.Ended.IsZero():
			state = "ENDED"
		case c.Clock.Now().Sub(node.Seen) > silent:
			state = "SILENT"
		}
		out[n] = nodeData{node, state}
	}
	return view{Title: "Nodes", Data: out, tick: 3 * time.Second}, nil
}
