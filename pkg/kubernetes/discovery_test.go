package kubernetes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
)

// Machines that join are led away from masters that have gone, and from no other address.
func TestEndpointOfAMasterThatHasGoneIsReplaced(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	cfg := kubernetes.Access{
		Endpoint: s.url, CA: s.ca, Certificate: s.admin.Certificate, Key: s.admin.Key,
	}.Config()
	c, err := kubernetes.New(cfg)
	require.NoError(t, err)
	defer c.Close()
	all, err := clientset.NewForConfig(cfg)
	require.NoError(t, err)
	public, system := all.CoreV1().ConfigMaps("kube-public"), all.CoreV1().ConfigMaps("kube-system")
	const rest = "apiServer:\n  certSANs:\n  - 10.0.0.11\nkind: ClusterConfiguration\n"
	for _, tt := range []struct{ name, endpoint, want string }{
		{"the first master", "10.0.0.11:6443", "10.0.0.12:6443"},
		{"another master", "10.0.0.13:6443", "10.0.0.13:6443"},
		{"a load balancer", "api.example.com:8383", "api.example.com:8383"},
		{"an address that begins the same", "10.0.0.111:6443", "10.0.0.111:6443"},
	} {
		config := discovery(t, "https://"+tt.endpoint)
		info, err := public.Get(t.Context(), "cluster-info", metav1.GetOptions{})
		require.NoError(t, err)
		info.Data["kubeconfig"] = config
		_, err = public.Update(t.Context(), info, metav1.UpdateOptions{})
		require.NoError(t, err)
		settings := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "kubeadm-config"},
			Data:       map[string]string{"ClusterConfiguration": "controlPlaneEndpoint: " + tt.endpoint + "\n" + rest},
		}
		if _, err = system.Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
			_, err = system.Create(t.Context(), settings, metav1.CreateOptions{})
		}
		require.NoError(t, err)
		for range 2 { // it may be repeated
			require.NoError(t, c.ReplaceEndpoint(t.Context(), []string{"10.0.0.11"}, "10.0.0.12:6443"))
			info, err = public.Get(t.Context(), "cluster-info", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, discovery(t, "https://"+tt.want), info.Data["kubeconfig"], tt.name)
			settings, err = system.Get(t.Context(), "kubeadm-config", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, "controlPlaneEndpoint: "+tt.want+"\n"+rest, settings.Data["ClusterConfiguration"], tt.name)
		}
	}
	require.NoError(t, system.Delete(t.Context(), "kubeadm-config", metav1.DeleteOptions{}))
	require.NoError(t, c.ReplaceEndpoint(t.Context(), []string{"10.0.0.11"}, "10.0.0.12:6443"))
}

// discovery is a kubeconfig with a server only, as cluster-info has one.
func discovery(t *testing.T, server string) string {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[""] = &clientcmdapi.Cluster{Server: server}
	raw, err := clientcmd.Write(*cfg)
	require.NoError(t, err)
	return string(raw)
}
