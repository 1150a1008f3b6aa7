from glob import glob

from setuptools import find_packages, setup

package_name = 'edge_llm_ros'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=[package_name, package_name + '.*']),
    package_data={package_name: ['py.typed'],
                  package_name + '.bench': ['tools.yaml', 'workloads/*.yaml'],
                  package_name + '.eval': ['tool_sets.yaml', 'missions/*/*.yaml']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        ('share/' + package_name + '/launch', glob('launch/*.launch.py')),
        ('share/' + package_name + '/config', glob('config/*.yaml') + glob('config/*.json')),
        ('share/' + package_name + '/config/tools', glob('config/tools/*.yaml')),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    maintainer='edge_llm_ros maintainers',
    maintainer_email='maintainers@edge-llm-ros.org',
    description='Plans goals given in plain language with a 4-bit model on the robot itself.',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': [
            'edge_llm = edge_llm_ros.entry_points:edge_llm',
            'plan = edge_llm_ros.entry_points:plan',
            'planner = edge_llm_ros.entry_points:planner',
            'simulated_robot = edge_llm_ros.entry_points:simulated_robot',
        ],
    },
)
