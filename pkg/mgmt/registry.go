// Package mgmt finds the mgmt driver that a VNFD's LCM interface names.
package mgmt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Registry holds the built-in mgmt drivers by the name that a VNFD gives as `implementation`. It implements
// lcm.MgmtDrivers.
type Registry map[string]lcm.MgmtDriver

var _ lcm.MgmtDrivers = Registry{}

// Driver returns the built-in driver with the implementation's name. A built-in driver wins over an artifact of the
// same name: packages made for other VNFMs carry scripts under these names that only those can run. CodeUnprocessable
// when there is none.
func (r Registry) Driver(impl vnfd.Implementation) (lcm.MgmtDriver, error) {
	if d, ok := r[impl.Name]; ok {
		return d, nil
	}
	what := fmt.Sprintf("the VNFD names the mgmt driver %q, which is not built in", impl.Name)
	switch {
	case impl.Defect != "":
		what += "; " + impl.Defect
	case impl.File != "":
		what += fmt.Sprintf("; running %s of the package is not supported", impl.File)
	}
	return nil, lcm.Errorf(lcm.CodeUnprocessable, "%s", what).
		WithHint(fmt.Sprintf("built in are: %s; to ignore the driver, upload the package again with %q: %q in its "+
			"userDefinedData (gybe package upload --ignore-mgmt-driver)",
			strings.Join(slices.Sorted(maps.Keys(r)), ", "), lcm.KeyIgnoreMgmtDrivers, impl.Name))
}
