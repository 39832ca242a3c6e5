package kubeapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/restmapper"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

func TestObjectsAreKeptAndProtectedAgainstLostUpdates(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	cms := s.CoreV1().ConfigMaps("default")

	made, err := cms.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, made.UID)
	require.NotEmpty(t, made.ResourceVersion)
	require.False(t, made.CreationTimestamp.IsZero())

	_, err = cms.Create(ctx, made.DeepCopy(), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)

	next := made.DeepCopy()
	next.Data["k"] = "w"
	next, err = cms.Update(ctx, next, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NotEqual(t, made.ResourceVersion, next.ResourceVersion)
	_, err = cms.Update(ctx, made, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)

	_, err = cms.Get(ctx, "b", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.EqualError(t, err, `configmaps "b" not found`)

	require.NoError(t, cms.Delete(ctx, "a", metav1.DeleteOptions{}))
	_, err = cms.Get(ctx, "a", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))

	_, err = s.CoreV1().ConfigMaps("nowhere").Create(
		ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{},
	)
	require.True(t, apierrors.IsNotFound(err))
	_, err = cms.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "No!"}}, metav1.CreateOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	err = s.CoreV1().RESTClient().Post().AbsPath(
		"/api/v1/namespaces/default/configmaps/x",
	).Body([]byte(`{}`)).Do(ctx).Error()
	require.True(t, apierrors.IsMethodNotSupported(err), "%v", err)
}

func TestEveryKindOfPatchChangesWhatItNames(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	s.AddNode(kubeapi.NodeSpec{Name: "n", IP: "10.0.0.1"})
	nodes := s.CoreV1().Nodes()

	for name, p := range map[string]struct {
		kind types.PatchType
		body string
	}{
		"json":      {types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/json","value":"yes"}]`},
		"merge":     {types.MergePatchType, `{"metadata":{"labels":{"merge":"yes"}}}`},
		"strategic": {types.StrategicMergePatchType, `{"metadata":{"labels":{"strategic":"yes"}}}`},
	} {
		n, err := nodes.Patch(ctx, "n", p.kind, []byte(p.body), metav1.PatchOptions{})
		require.NoError(t, err, name)
		require.Equal(t, "yes", n.Labels[name])
		require.Equal(t, "n", n.Labels["kubernetes.io/hostname"], "others stay")
	}

	// Conditions are merged by type, as the kubelet relies on; only /status takes them.
	patch := `{"status":{"conditions":[{"type":"Sunny","status":"True"}]}}`
	n, err := nodes.Patch(ctx, "n", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Len(t, n.Status.Conditions, 4)
	n, err = nodes.Patch(ctx, "n", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.Len(t, n.Status.Conditions, 5)

	cms := s.CoreV1().ConfigMaps("default")
	for _, v := range []string{"1", "2"} {
		cm, err := cms.Apply(ctx, corev1apply.ConfigMap("applied", "default").WithData(map[string]string{"k": v, "k" +
			v: ""}), metav1.ApplyOptions{FieldManager: "t", Force: true})
		require.NoError(t, err)
		require.Equal(t, v, cm.Data["k"])
	}
	_, err = nodes.Patch(ctx, "n", types.MergePatchType,
		[]byte(`{"metadata":{"resourceVersion":"1","labels":{"a":"b"}}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestListsCanBeNarrowedByLabelAndField(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	for _, n := range []string{"m", "n"} {
		s.AddNode(kubeapi.NodeSpec{Name: n, IP: "10.0.0.1"})
		_, err := s.CoreV1().Pods("default").Create(ctx, podOn("on-"+n, n), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for sel, want := range map[metav1.ListOptions]int{
		{FieldSelector: "spec.nodeName=m"}:                             1,
		{FieldSelector: "metadata.name=on-n,spec.nodeName=m"}:          0,
		{LabelSelector: "app in (on-m,on-n)"}:                          2,
		{LabelSelector: "app=on-m", FieldSelector: "spec.nodeName!=n"}: 1,
	} {
		l, err := s.CoreV1().Pods("default").List(ctx, sel)
		require.NoError(t, err)
		require.Len(t, l.Items, want, "%+v", sel)
		require.NotEmpty(t, l.ResourceVersion)
	}
	_, err := s.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: "a in b"})
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
}

func TestANamespaceBringsItsAccountAndTakesItsContentAway(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	_, err := s.CoreV1().Namespaces().Create(
		ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, metav1.CreateOptions{},
	)
	require.NoError(t, err)
	_, err = s.CoreV1().ServiceAccounts("demo").Get(ctx, "default", metav1.GetOptions{})
	require.NoError(t, err)
	cm, err := s.CoreV1().ConfigMaps("demo").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, string(s.CAPEM()), cm.Data["ca.crt"])
	require.NoError(t, s.CoreV1().Namespaces().Delete(ctx, "demo", metav1.DeleteOptions{}))
	l, err := s.CoreV1().ConfigMaps("demo").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, l.Items)
}

func TestClientsDiscoverWhatIsServed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	v, err := s.Discovery().ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "v1.36.2", v.GitVersion)
	require.Equal(t, "36", v.Minor)
	groups, err := restmapper.GetAPIGroupResources(s.Discovery())
	require.NoError(t, err)
	m, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	require.NoError(t, err)
	require.Equal(t, "deployments", m.Resource.Resource)
	require.Equal(t, "v1", m.Resource.Version)
}

func TestApplyCreatesThenLeavesAloneThenChanges(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n---\n"
	require.NoError(t, s.Apply(ctx, kubeapi.Admin, "demo", []byte(namespace+web)))
	deployments := s.AppsV1().Deployments("demo")
	created, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, *created.Spec.Replicas)
	require.NoError(t, s.Apply(ctx, kubeapi.Admin, "demo", []byte(namespace+web)))
	same, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, created.ResourceVersion, same.ResourceVersion)
	more := strings.Replace(web, "replicas: 2", "replicas: 3", 1)
	require.NoError(t, s.Apply(ctx, kubeapi.Admin, "demo", []byte(more)))

	r, ok := kubeapi.Find("deploy")
	require.True(t, ok)
	code, b := s.Do(ctx, kubeapi.Admin, "GET", r.Path("demo", "web"), "", nil)
	require.Equal(t, 200, code)
	var d appsv1.Deployment
	require.NoError(t, json.Unmarshal(b, &d))
	require.EqualValues(t, 3, *d.Spec.Replicas)

	kubelet := kubeapi.User{Name: "system:node:n", Groups: []string{"system:nodes", "system:authenticated"}}
	err = s.Apply(ctx, kubelet, "demo", []byte(more))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	err = s.Apply(ctx, kubeapi.Admin, "", []byte("kind: Thing\napiVersion: v7\nmetadata: {name: x}\n"))
	require.ErrorContains(t, err, `no matches for kind "Thing" in version "v7"`)
}

func TestAClaimFindsItsVolume(t *testing.T) {
	t.Parallel()
	s, ctx := serve(t), t.Context()
	_, err := s.StorageV1().StorageClasses().Create(ctx,
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "nfs"}, Provisioner: "x"}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Apply(ctx, kubeapi.Admin, "", []byte(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec: {storageClassName: nfs, capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], nfs: {server: 10.0.0.1, path: /}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {storageClassName: nfs, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
`)))
	pvc, err := s.CoreV1().PersistentVolumeClaims("default").Get(ctx, "claim", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, corev1.ClaimBound, pvc.Status.Phase)
	require.NoError(t, s.CoreV1().PersistentVolumeClaims("default").Delete(ctx, "claim", metav1.DeleteOptions{}))
	pv, err := s.CoreV1().PersistentVolumes().Get(ctx, "pv", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, corev1.VolumeReleased, pv.Status.Phase)
}
