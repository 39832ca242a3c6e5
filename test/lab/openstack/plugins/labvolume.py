"""Cinder without storage: a backend whose volumes exist in Cinder's database and nowhere else."""
import io

from cinder.volume import driver


class Driver(driver.BaseVD):
    VERSION = '1'

    def check_for_setup_error(self):
        pass

    def create_volume(self, volume):
        pass

    def delete_volume(self, volume):
        pass

    def create_cloned_volume(self, volume, src_vref):
        pass

    def create_volume_from_snapshot(self, volume, snapshot):
        pass

    def create_snapshot(self, snapshot):
        pass

    def delete_snapshot(self, snapshot):
        pass

    def extend_volume(self, volume, new_size):
        pass

    def clone_image(self, context, volume, image_location, image_meta, image_service):
        return {}, True  # as a backend that shares storage with Glance says: nothing needs to be copied

    def copy_image_to_volume(self, context, volume, image_service, image_id, disable_sparse=False):
        pass

    def copy_volume_to_image(self, context, volume, image_service, image_meta):
        image_service.update(context, image_meta['id'], {}, io.BytesIO(bytes(512)))

    def retype(self, context, volume, new_type, diff, host):
        return True, None

    def ensure_export(self, context, volume):
        pass

    def create_export(self, context, volume, connector):
        pass

    def remove_export(self, context, volume):
        pass

    def initialize_connection(self, volume, connector):
        return {'driver_volume_type': 'fake', 'data': {'volume_id': volume['id'], 'access_mode': 'rw'}}

    def terminate_connection(self, volume, connector, **kwargs):
        pass

    def get_volume_stats(self, refresh=False):
        name = self.configuration.safe_get('volume_backend_name')
        return {
            'volume_backend_name': name, 'vendor_name': 'Gybe', 'driver_version': self.VERSION, 'storage_protocol': 'fake',
            'pools': [{
                'pool_name': name, 'total_capacity_gb': 100000, 'free_capacity_gb': 100000, 'provisioned_capacity_gb': 0,
                'reserved_percentage': 0, 'max_over_subscription_ratio': 20.0, 'thin_provisioning_support': True,
                'multiattach': True, 'QoS_support': False,
            }],
        }
