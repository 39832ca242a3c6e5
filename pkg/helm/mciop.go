package helm

import (
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// identified adds the workloads that the VNFD names (mcio_identification_data) and vdu_mapping does not.
func (s *settings) identified(f *vnfd.Flavour) {
	for _, v := range f.VDUs {
		if _, mapped := s.workloads[v.Name]; !mapped && v.Workload != nil {
			s.workloads[v.Name] = workload{kind: v.Workload.Kind, name: v.Workload.Name}
		}
	}
}

// charted are the object packages of a flavour that have a chart, in the order of their deployment.
func charted(f *vnfd.Flavour) []vnfd.Mciop {
	return slices.DeleteFunc(slices.Clone(f.Mciops), func(m vnfd.Mciop) bool { return m.Chart == "" })
}

// packaged makes a release of each object package. The first has the name that the only release of an instance has.
// A value with the number of VNFCs goes to the charts that are associated with the VDU.
func (s *spec) packaged(charts []vnfd.Mciop) []spec {
	out := make([]spec, len(charts))
	for n, m := range charts {
		out[n] = *s
		out[n].path, out[n].replicas = m.Chart, map[string]string{}
		if n > 0 {
			out[n].name = fmt.Sprintf("%s-%d", s.name, n+1)
		}
		for vdu, value := range s.replicas {
			if slices.Contains(m.VDUs, vdu) {
				out[n].replicas[vdu] = value
			}
		}
	}
	return out
}
