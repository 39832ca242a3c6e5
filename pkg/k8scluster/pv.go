package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	titleRegister = "register persistent volumes"
	titleRelease  = "delete persistent volumes"
)

// volumeTimeout is how long the cluster has to make volumes Available, and to delete them.
const volumeTimeout = 3 * time.Minute

// readVolumes reads the PersistentVolumes of a manifest in the package.
func readVolumes(pkg fs.FS, file string) ([]*corev1.PersistentVolume, error) {
	raw, err := readScript(pkg, file)
	if err != nil {
		return nil, err
	}
	var out []*corev1.PersistentVolume
	for doc := range strings.SplitSeq("\n"+string(raw), "\n---") {
		var v corev1.PersistentVolume
		if err := yaml.UnmarshalStrict([]byte(doc), &v); err != nil {
			return nil, fmt.Errorf("%q is not a manifest of a PersistentVolume: %w", file, err)
		}
		if v.Kind == "" && v.Name == "" {
			continue // nothing but comments
		}
		if v.Kind != "PersistentVolume" || v.APIVersion != "v1" || v.Name == "" || v.Spec.NFS == nil ||
			v.Spec.NFS.Path == "" {
			return nil, fmt.Errorf("%q is not a manifest of a PersistentVolume with a name and an NFS path", file)
		}
		out = append(out, &v)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q holds no PersistentVolume", file)
	}
	return out, nil
}

// persistent reads all volumes that the parameters name, with the address of their NFS server set.
func (x nfs) persistent() ([]*corev1.PersistentVolume, error) {
	var out []*corev1.PersistentVolume
	inv := inventory(x.w.Instance.Inventory)
	for _, m := range x.p.manifests {
		list, err := readVolumes(x.w.Package, m.file)
		if err != nil {
			return nil, lcm.Errorf(
				lcm.CodeUnprocessable, "the pv_manifest_file_path in the additionalParams is invalid: %w", err,
			)
		}
		r := inv.own(m.cp, x.t.storage.vnfc)
		if r == nil || fixed(r) == "" {
			return nil, lcm.Errorf(
				lcm.CodeUnprocessable, "the stack has no port %s (nfs_server_cp) with an IPv4 address", m.cp,
			)
		}
		for _, v := range list {
			v.Spec.NFS.Server = fixed(r)
		}
		out = append(out, list...)
	}
	return out, nil
}

// register makes the volumes known to the cluster and waits until each is Available, or in use already.
func (x nfs) register(ctx context.Context, api *kubernetes.Client) error {
	if len(x.p.manifests) == 0 {
		return nil
	}
	volumes, err := x.persistent()
	if err != nil {
		return err
	}
	return x.w.Step(ctx, titleRegister, "", func(ctx context.Context, s *lcm.Step) error {
		var names []string
		for _, v := range volumes {
			names = append(names, v.Name)
			s.Logf(ctx, fmt.Sprintf("%s: %s:%s", v.Name, v.Spec.NFS.Server, v.Spec.NFS.Path))
		}
		s.Detail(strings.Join(names, ", "))
		return x.untilVolumes(ctx, s, func(ctx context.Context) (string, error) {
			var waits []string
			for _, v := range volumes {
				now, err := api.ApplyVolume(ctx, v)
				if err != nil {
					return "", err
				}
				if p := now.Status.Phase; p != corev1.VolumeAvailable && p != corev1.VolumeBound {
					waits = append(waits, strings.TrimSpace(fmt.Sprintf("%s is %s %s", v.Name, p, now.Status.Message)))
				}
			}
			return strings.Join(waits, "; "), nil
		}, "PersistentVolume not available", "see kubectl describe pv")
	})
}

// release deletes the volumes from the cluster, because their server is about to be replaced. It refuses when one of
// them is in use.
func (x nfs) release(ctx context.Context, api *kubernetes.Client) error {
	var names []string
	for _, m := range x.p.manifests {
		list, err := readVolumes(x.w.Package, m.file)
		if err != nil {
			return lcm.Errorf(
				lcm.CodeUnprocessable, "the pv_manifest_file_path in the additionalParams is invalid: %w", err,
			)
		}
		for _, v := range list {
			names = append(names, v.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return x.w.Step(ctx, titleRelease, "", func(ctx context.Context, s *lcm.Step) error {
		used, err := inUse(ctx, api, names)
		if err != nil {
			return err
		}
		if len(used) > 0 {
			return &lcm.Error{
				Code: lcm.CodeConflict, Title: "Persistent volumes in use",
				Detail: "the storage server cannot be healed while its volumes are in use: " + strings.Join(used, "; "),
				Hint:   "end the pods that use them and delete the claims, then retry the operation",
			}
		}
		s.Detail(strings.Join(names, ", "))
		for _, name := range names {
			if err := api.DeleteVolume(ctx, name); err != nil {
				return err
			}
		}
		return x.untilVolumes(ctx, s, func(ctx context.Context) (string, error) {
			for _, name := range names {
				switch _, err := api.Volume(ctx, name); {
				case err == nil:
					return name + " is still there", nil
				case !errors.Is(err, kubernetes.ErrNoVolume):
					return "", err
				}
			}
			return "", nil
		}, "PersistentVolume not deleted", "kubectl describe pv shows the finalizers that it waits for")
	})
}

// inUse lists the volumes that a claim holds.
func inUse(ctx context.Context, api *kubernetes.Client, names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		v, err := api.Volume(ctx, name)
		if errors.Is(err, kubernetes.ErrNoVolume) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c := v.Spec.ClaimRef; c != nil && v.Status.Phase == corev1.VolumeBound {
			out = append(out, fmt.Sprintf("%s by claim %s/%s", name, c.Namespace, c.Name))
		}
	}
	return slices.Compact(out), nil
}

// untilVolumes waits for the cluster, for at most volumeTimeout.
func (x nfs) untilVolumes(
	ctx context.Context, s *lcm.Step, look func(context.Context) (string, error), title, hint string,
) error {
	w, began := waiting{first: 100 * time.Millisecond, longest: 2 * time.Second, prefix: "waits: "}, x.w.Clock.Now()
	return w.until(ctx, s, look, func(why string) error {
		if x.w.Clock.Now().Sub(began) <= volumeTimeout {
			return nil
		}
		return &lcm.Error{
			Code: lcm.CodeTimeout, Title: title, Detail: fmt.Sprintf("after %s %s", volumeTimeout, why), Hint: hint,
		}
	})
}
